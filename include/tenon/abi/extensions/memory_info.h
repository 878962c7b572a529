// SPDX-License-Identifier: MIT
//
// Extension "tenon.memory_info/1" of a backend: how much memory it holds.

#ifndef TENON_ABI_EXTENSIONS_MEMORY_INFO_H
#define TENON_ABI_EXTENSIONS_MEMORY_INFO_H

#include <stdint.h>

#include "tenon/abi/backend.h"
#include "tenon/abi/memory_use.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_MEMORY_INFO "tenon.memory_info/1"

typedef struct tenon_memory_info_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Passes the memory that `delegate` holds now to `sink`; for NULL, the memory of the backend
  /// that no delegate reports, such as caches and pools. A backend reports each byte once: what the
  /// sessions of a delegate share with the delegate that `init` made, and what several of those
  /// share with NULL. A delegate that is NULL itself holds nothing.
  ///
  ///   TN-MEM-1  `memory_info` MUST give each use a `kind` in UTF-8 without control characters, and
  ///             MUST report memory on TENON_DL_CPU or on devices that the backend lists: on the
  ///             CPU, of all delegates and of NULL together, no more bytes than the process has
  ///             mapped; on a device, no more than its `memory_bytes`.
  ///
  /// [per-delegate] From `init` to `destroy` of `delegate`; with NULL at any time, on any thread.
  tenon_status(TENON_CALL* memory_info)(tenon_backend* backend, tenon_delegate* delegate,
                                        tenon_memory_sink sink, void* sink_context);
} tenon_memory_info_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_MEMORY_INFO_H
