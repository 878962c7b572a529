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

/// The first device type (`tenon_dl_device.device_type`) that DLPack will not define: a vendor
/// chooses a number from here on for devices that DLPack has no type for, and may not choose a
/// smaller one. Two vendors may choose the same number, so the identity separates their devices.
#define TENON_DL_VENDOR_FIRST 0x10000

// Facts about a device, one bit each. Bits that are not known are ignored.
enum {
  /// Addresses of memory on the device mean the same to every plugin in the process, as CUDA's do;
  /// not a plugin's own numbers for objects of a driver.
  TENON_DEVICE_SHARES_ADDRESSES = 1u << 0
};

/// A device that the backend can use. A backend without this extension uses the CPU alone.
///
/// A host passes an address of memory on a device to another plugin only when both plugins list
/// the device with TENON_DEVICE_SHARES_ADDRESSES, and with the same type, number and identity. An
/// empty identity equals none. The CPU needs neither.
///
///   TN-IDN-1  The identity of a device MUST be NUL-terminated, the same in each call, and not that
///             of another device of the backend, unless it is empty.
typedef struct tenon_device_info {
  uint32_t struct_size;
  uint32_t flags;  ///< TENON_DEVICE_...
  tenon_dl_device device;
  uint64_t memory_bytes;    ///< 0 when unknown.
  const char* name;         ///< "NVIDIA H200", NUL-terminated.
  const char* description;  ///< Driver, memory, whatever helps a person; NUL-terminated.

  /// The device itself, whatever its number: "uuid:" or "pci:" and the value in lower case
  /// ("uuid:4a1d0c5e-...", "pci:0000:65:00.0"), or a vendor's name, a colon and a serial number.
  /// NUL-terminated; "" when unknown.
  char identity[80];
} tenon_device_info;

/// Receives one device; `device` is valid until the function returns.
///
/// [any, never] Inside the call that it was given to.
typedef void(TENON_CALL* tenon_device_sink)(void* context, const tenon_device_info* device);

typedef struct tenon_devices_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Passes each device to `sink`. No device is not a failure.
  tenon_status(TENON_CALL* list_devices)(tenon_backend* backend, tenon_device_sink sink,
                                         void* context);
} tenon_devices_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_DEVICES_H
