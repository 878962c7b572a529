// SPDX-License-Identifier: MIT
//
// Extension "tenon.devices/1" of a backend: the devices it can use on this machine.

#ifndef TENON_ABI_EXTENSIONS_DEVICES_H
#define TENON_ABI_EXTENSIONS_DEVICES_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_DEVICES "tenon.devices/1"

typedef struct tenon_device_info {
  uint32_t struct_size;
  uint32_t reserved;
  tenon_dl_device device;
  const char* name;         ///< "NVIDIA H200", NUL-terminated.
  const char* description;  ///< Driver, memory, whatever helps a person; NUL-terminated.
  uint64_t memory_bytes;    ///< 0 when unknown.
} tenon_device_info;

/// Receives one device; `device` is valid until the function returns.
///
/// [any, never] Inside the call that it was given to.
typedef void (*tenon_device_sink)(void* context, const tenon_device_info* device);

typedef struct tenon_devices_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Passes each device to `sink`. No device is not a failure.
  tenon_status (*list_devices)(tenon_backend* backend, tenon_device_sink sink, void* context);
} tenon_devices_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_DEVICES_H
