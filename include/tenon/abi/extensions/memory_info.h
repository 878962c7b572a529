// SPDX-License-Identifier: MIT
//
// Extension "tenon.memory_info/1" of a backend: how much memory its delegates hold.

#ifndef TENON_ABI_EXTENSIONS_MEMORY_INFO_H
#define TENON_ABI_EXTENSIONS_MEMORY_INFO_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_MEMORY_INFO "tenon.memory_info/1"

/// Bytes held, in addition to the blob and the planned memory, which the host counts itself.
typedef struct tenon_memory_info {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t host_weights;
  uint64_t host_scratch;
  uint64_t device_weights;
  uint64_t device_scratch;
} tenon_memory_info;

typedef struct tenon_memory_info_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Fills `out` for one delegate, or for the whole backend when `delegate` is NULL. The caller
  /// sets `out->struct_size` and zeroes the rest.
  ///
  /// [per-delegate]
  tenon_status (*memory_info)(tenon_backend* backend, tenon_delegate* delegate,
                              tenon_memory_info* out);
} tenon_memory_info_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_MEMORY_INFO_H
