// SPDX-License-Identifier: MIT
//
// Extension "tenon.private.changes/1" of a host: how often the values of a method have changed, so
// that a plugin that keeps what it made of its arguments compares one number in a call and not
// every member of each argument.

#ifndef TENON_ABI_PRIVATE_CHANGES_H
#define TENON_ABI_PRIVATE_CHANGES_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_CHANGES "tenon.private.changes/1"

/// The changes of the values of one method. A change is one of what `tenon_value` and
/// `tenon_tensor` hold: the kind and the content of a value, `dl.data`, sizes and strides. The
/// bytes of a tensor may change at any time.
typedef struct tenon_changes {
  uint32_t struct_size;

  /// A plugin that increases `count` itself, after each change that it makes in a call, writes 1
  /// before it returns from the call, and leaves it as it is when the call fails. It never reads
  /// it: an earlier call may have left the number. After a call that left 0 the host increases
  /// `count` when the call may have changed something.
  uint32_t counted;

  /// While it equals the count in an earlier call, no argument of any call of the method has
  /// changed since that call.
  uint64_t count;
} tenon_changes;

/// Functions of the host.
typedef struct tenon_changes_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// The changes of the method that the call is part of, or NULL when the host does not count them:
  /// the same object in each call of one delegate or kernel. A plugin may read and write its
  /// members inside `execute` and `run_kernel` only, in the thread of the call: not in a thread
  /// that completes an event later.
  ///
  /// [per-delegate, null] Inside the call of `execute` or `run_kernel` that got `context`,
  /// which is the object to pass. The result is valid until `destroy` or `destroy_kernel`.
  tenon_changes*(TENON_CALL* get_changes)(const tenon_execution_context* context);
} tenon_changes_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_PRIVATE_CHANGES_H
