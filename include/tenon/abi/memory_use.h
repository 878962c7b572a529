// SPDX-License-Identifier: MIT
//
// Memory of a delegate, as a backend states it: before the load by "tenon.estimate/1", and after it
// by "tenon.memory_info/1".

#ifndef TENON_ABI_MEMORY_USE_H
#define TENON_ABI_MEMORY_USE_H

#include <stdint.h>

#include "tenon/abi/macros.h"
#include "tenon/abi/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// Kinds of memory, for `tenon_memory_use.kind`. A vendor's own kind begins with the vendor's name
// and a dot ("acme.cache"). A host counts a kind that it does not know as TENON_MEMORY_WORKSPACE.
#define TENON_MEMORY_WEIGHTS "weights"      ///< Constants and code, which sessions share.
#define TENON_MEMORY_WORKSPACE "workspace"  ///< All else of the delegate that `init` made.
#define TENON_MEMORY_SESSION "session"      ///< Of each further session ("tenon.sessions/1").

/// As `nbytes` of an estimate: the delegate needs memory of this kind, and only a run shows how
/// much.
#define TENON_MEMORY_UNKNOWN UINT64_MAX

/// Bytes of one kind on one device. Several of one kind and device add up.
///
/// Counted is what the backend and the libraries below it take: from the system, from a device, and
/// from the runtime allocator. Not counted are: the blob and named data where they are used in
/// place, planned memory, memory from the temp allocator, and what the process takes once for all
/// delegates, such as the code of libraries.
typedef struct tenon_memory_use {
  uint32_t struct_size;
  uint32_t reserved;
  tenon_dl_device device;  ///< TENON_DL_CPU is the memory of the process.
  uint64_t nbytes;
  const char* kind;              ///< TENON_MEMORY_..., NUL-terminated, never NULL or empty.
  const void* reserved_pointer;  ///< NULL.
} tenon_memory_use;

/// Receives one use of memory; `use` is valid until the function returns.
///
/// [any, never] Inside the call that it was given to.
typedef void(TENON_CALL* tenon_memory_sink)(void* context, const tenon_memory_use* use);

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_MEMORY_USE_H
