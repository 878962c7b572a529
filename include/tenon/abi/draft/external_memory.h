// SPDX-License-Identifier: MIT
//
// Extension "tenon.external_memory/1" of a backend: memory that something else allocated, such as a
// camera, a decoder, a graphics interface or another process, as the bytes of inputs and outputs,
// without a copy; and fences of theirs, which runs wait for and signal.

#ifndef TENON_ABI_DRAFT_EXTERNAL_MEMORY_H
#define TENON_ABI_DRAFT_EXTERNAL_MEMORY_H

#include <stdint.h>

#include "tenon/abi/backend.h"
#include "tenon/abi/native_handle.h"
#include "tenon/abi/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_EXTERNAL_MEMORY "tenon.external_memory/1"

// Access, in `tenon_external_memory.access`; one or both.
#define TENON_EXTERNAL_READ 1   ///< Runs read it: inputs.
#define TENON_EXTERNAL_WRITE 2  ///< Runs write it: outputs.

// Flags, in `tenon_external_memory.flags`.
#define TENON_EXTERNAL_DEDICATED 1  ///< One resource alone has the allocation, as its driver says.

/// Memory of another owner. The descriptor or handle is the caller's before and after the call.
typedef struct tenon_external_memory {
  uint32_t struct_size;
  uint32_t access;         ///< TENON_EXTERNAL_READ, TENON_EXTERNAL_WRITE
  const char* kind;        ///< What `descriptor` or `handle` is (TENON_KIND_MEMFD).
  void* handle;            ///< For kinds that are handles; NULL for descriptors.
  int64_t descriptor;      ///< For kinds that are descriptors, and see below; -1 for handles.
  uint64_t object_size;    ///< Bytes of the whole object where its descriptor does not say them; 0.
  uint64_t offset;         ///< Bytes before the range that is imported.
  uint64_t nbytes;         ///< Of the range, 1 or more.
  tenon_dl_device device;  ///< Where runs find it: the CPU or a device of the backend.
  uint32_t flags;          ///< TENON_EXTERNAL_DEDICATED, or 0.
  uint32_t reserved;       ///< 0
} tenon_external_memory;

/// A point in the work of another owner. The descriptor or handle is the caller's before and after
/// the call.
typedef struct tenon_external_fence {
  uint32_t struct_size;
  uint32_t reserved;   ///< 0
  const char* kind;    ///< What `descriptor` or `handle` is (TENON_KIND_SYNC_FILE).
  void* handle;        ///< For kinds that are handles; NULL for descriptors.
  int64_t descriptor;  ///< For kinds that are descriptors; -1 for handles.
  uint64_t value;      ///< Of a semaphore with a timeline: what it is to reach; 0 for others.
} tenon_external_fence;

/// Imported memory. Opaque to the host. Belongs to the backend.
typedef struct tenon_imported_memory tenon_imported_memory;

/// Functions of a backend that imports memory.
///
/// TENON_KIND_HOST_MEMORY is memory that a device which shares the host's memory works on where
/// it is. A backend refuses with NOT_SUPPORTED what its device cannot have: it may need whole
/// pages, or memory of one mapping. Tensors in it have the address that they have without the
/// import, as tensors of the CPU; tensors in other memory of the host may be copied. Where the
/// memory is a memfd that is mapped at `handle` and sealed against other sizes, `descriptor` is the
/// memfd, and otherwise -1. A host plans such memory for a backend that knows TENON_KIND_MEMFD as
/// well, and may work in another process.
///
///   TN-EXM-1  A kind of memory or fence that the table does not list MUST be refused with
///             NOT_SUPPORTED and a text.
typedef struct tenon_external_memory_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  uint32_t num_memory_kinds;
  uint32_t num_fence_kinds;
  const char* const*
      memory_kinds;  ///< Kinds that `import_memory` knows (abi/native_handle.h). Constant.
  const char* const* fence_kinds;  ///< Kinds that `wait_fence` and `signal_fence` know. Constant.

  /// Makes the range of `memory` usable as the bytes of tensors on `memory->device`, and writes its
  /// address there to `*address`. No bytes are copied: `*address` points into the memory itself.
  ///
  ///   TN-EXM-2  Memory MUST be refused that is not what the struct says, with INVALID_ARGUMENT: a
  ///             range that the object does not have, an object that another process could make
  ///             smaller, a descriptor of another kind, write access to memory that refuses it.
  ///   TN-EXM-3  A call MUST leave the caller's descriptor open, and `release_memory` MUST leave
  ///             nothing of the memory in the process.
  ///   TN-EXM-4  `execute` MUST read the bytes that are there when it runs, and MUST write to the
  ///             memory itself, as it does with other memory of the same device.
  ///   TN-EXM-5  Memory without TENON_EXTERNAL_WRITE MUST NOT be written, whatever is done with
  ///             its address.
  ///
  /// [any, gives: `release_memory`] `*out` and `*address` are valid until `release_memory`.
  tenon_status(TENON_CALL* import_memory)(tenon_backend* backend,
                                          const tenon_external_memory* memory,
                                          tenon_imported_memory** out, void** address);

  /// Gives it back, NULL included. The memory of the owner stays as it is.
  ///
  ///   TN-EXM-6  A host MUST release each imported memory before `close`, after the last run that
  ///             has its address.
  ///
  /// [any, takes, never] Once for each successful `import_memory`.
  void(TENON_CALL* release_memory)(tenon_backend* backend, tenon_imported_memory* memory);

  /// Runs of `delegate` that are begun from now on begin after `fence` is signalled, which another
  /// owner does. May wait for it. NULL when `num_fence_kinds` is 0.
  ///
  ///   TN-EXM-7  A run MUST NOT begin before each fence that `wait_fence` named is signalled.
  ///
  /// [per-delegate] From `init` to `destroy` of `delegate`.
  tenon_status(TENON_CALL* wait_fence)(tenon_backend* backend, tenon_delegate* delegate,
                                       const tenon_external_fence* fence);

  /// Signals `fence` when the runs of `delegate` so far are done, at once for runs that were waited
  /// for. NULL when `num_fence_kinds` is 0.
  ///
  ///   TN-EXM-8  `fence` MUST be signalled once the runs so far are done, and MUST NOT be before.
  ///
  /// [per-delegate] From `init` to `destroy` of `delegate`.
  tenon_status(TENON_CALL* signal_fence)(tenon_backend* backend, tenon_delegate* delegate,
                                         const tenon_external_fence* fence);
} tenon_external_memory_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_DRAFT_EXTERNAL_MEMORY_H
