// SPDX-License-Identifier: MIT
//
// Extension "tenon.intermediates/1" of a backend: the tensors that a delegate computes on the way
// to its outputs, for a host that looks for the layer that is wrong.

#ifndef TENON_ABI_DRAFT_INTERMEDIATES_H
#define TENON_ABI_DRAFT_INTERMEDIATES_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_INTERMEDIATES "tenon.intermediates/1"

/// One tensor that a delegate can give.
typedef struct tenon_intermediate {
  uint32_t struct_size;
  uint32_t reserved;

  /// Number of the step whose result it is, not negative, and each once in a delegate. Where the
  /// backend reports events (tenon_tracer) or has a map of debug handles
  /// (abi/draft/preprocess.h) that are named by number, it is the number of the event.
  int64_t handle;

  /// The operator or layer, for people ("Conv2d"); where events are named by text, the name of the
  /// event. UTF-8, need not be NUL-terminated.
  const char* name;
  uint64_t name_size;
} tenon_intermediate;

/// Receives the names of intermediates; the host's.
typedef struct tenon_intermediate_list {
  uint32_t struct_size;
  uint32_t reserved;

  /// Adds one. The host copies it. A failure ends the listing: it is what `list` is to return.
  ///
  /// [per-delegate] Inside `list`.
  tenon_status(TENON_CALL* add)(const struct tenon_intermediate_list* to,
                                const tenon_intermediate* one);
} tenon_intermediate_list;

/// Receives tensors while a delegate runs; the host's.
typedef struct tenon_intermediate_sink {
  uint32_t struct_size;
  uint32_t reserved;

  /// Takes the result of step `handle`, complete. The host has copied what it keeps of `tensor`
  /// when this returns; the struct, its arrays and its bytes may then be used for something else.
  /// The work on a tensor of a device must be complete, or enqueued where `copy_to_host` of the
  /// backend waits for it (abi/extensions/device_memory.h, TN-DEV-7). A failure, for example
  /// without memory, is what `execute` is to fail with.
  ///
  /// [per-delegate] Inside `execute` of the delegate, on any of its threads, one call at a time.
  tenon_status(TENON_CALL* take)(const struct tenon_intermediate_sink* sink, int64_t handle,
                                 const tenon_tensor* tensor);
} tenon_intermediate_sink;

/// Functions of a backend.
typedef struct tenon_intermediates_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Adds all intermediates of `delegate` to `to`, in the order in which a run computes them. The
  /// same in each call. A delegate may have none.
  ///
  ///   TN-INT-1  `list` MUST add each handle once, with a number that is not negative.
  ///
  /// [per-delegate] From `init` to `destroy` of `delegate`, outside of its `execute`.
  tenon_status(TENON_CALL* list)(tenon_backend* backend, tenon_delegate* delegate,
                                 const tenon_intermediate_list* to);

  /// From now on each call of `execute` of `delegate` gives the intermediates `handles` to `sink`,
  /// each as often as it is computed: once, or in a loop more often. Replaces what was asked for
  /// before; with no handle nothing is given any more, and `sink` is NULL. `handles` is read in
  /// this call alone; `sink` is valid until the next call or `destroy`.
  ///
  ///   TN-INT-2  A call of `execute` that succeeds MUST give each intermediate that was asked for,
  ///             and no other one. The tensor MUST be whole: as a tensor in an argument
  ///             (abi/tensor.h), with data, and with the bytes of its sizes.
  ///   TN-INT-3  Its bytes MUST be what this call computed, and equal for equal inputs as far as
  ///             outputs are.
  ///   TN-INT-4  Outputs MUST be those of a call that gives nothing.
  ///   TN-INT-5  `record` MUST fail with NOT_FOUND for a handle that `list` does not add, and then
  ///             change nothing.
  ///
  /// [per-delegate] As `list`. Sessions begin without.
  tenon_status(TENON_CALL* record)(tenon_backend* backend, tenon_delegate* delegate,
                                   const int64_t* handles, uint64_t num_handles,
                                   const tenon_intermediate_sink* sink);
} tenon_intermediates_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_DRAFT_INTERMEDIATES_H
