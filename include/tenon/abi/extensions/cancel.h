// SPDX-License-Identifier: MIT
//
// How an application ends a run that is going on. A host that can end runs has the extension
// "tenon.cancel_flag/1": a number that `execute` looks at while it computes. A backend whose
// `execute` waits, for a device or for another library, has "tenon.cancel/1" as well: a call that
// ends the wait.

#ifndef TENON_ABI_EXTENSIONS_CANCEL_H
#define TENON_ABI_EXTENSIONS_CANCEL_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_CANCEL_FLAG "tenon.cancel_flag/1"

/// Functions of the host.
typedef struct tenon_cancel_flag_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// A number that is 0 while the run that the call is part of may go on, and not 0 once it was
  /// cancelled; or NULL when the run cannot be cancelled. Kernels that a delegate found
  /// (abi/draft/kernel_lookup.h) have the flag of the delegate's method.
  ///
  /// Read it with an atomic load, and never write it. Relaxed order is enough:
  ///
  ///     atomic_load_explicit((const _Atomic uint32_t*)flag, memory_order_relaxed)   C11
  ///     __atomic_load_n(flag, __ATOMIC_RELAXED)                                     GCC, clang
  ///
  /// ISO C leaves the representation of an atomic type open. On each platform of Tenon
  /// `_Atomic uint32_t` is a `uint32_t`, and so are `std::atomic<uint32_t>` and Rust's `AtomicU32`.
  ///
  /// [per-delegate, null] Inside the call of `execute`, `start` or `run_kernel` that got `context`,
  /// which is the object to pass. It has the same result in all calls of one delegate or kernel,
  /// which may be read, from any thread, until the call returns or the event that it signals is
  /// complete.
  const uint32_t*(TENON_CALL* get_cancel_flag)(const tenon_execution_context* context);
} tenon_cancel_flag_v1;

#define TENON_EXTENSION_CANCEL "tenon.cancel/1"

/// Functions of a backend.
typedef struct tenon_cancel_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// The run that `delegate` is part of was cancelled: a call of `execute` that is going on, and
  /// work that was started and is not complete (abi/extensions/events.h), is to end soon. The host
  /// has set the flag before, so that an `execute` that looks at it after it has begun what
  /// `cancel` can end misses no call.
  ///
  ///   TN-CAN-1  A call of `execute` that was cancelled MUST return, with CANCELLED or, when it was
  ///             complete all the same, with OK, within the time that the author states.
  ///   TN-CAN-2  `cancel` MUST return without waiting for the call that it ends, and have no effect
  ///             outside of the calls of `execute` of a run, also not on later ones.
  ///   TN-CAN-3  After a run that was cancelled the next one MUST be as after any other failure of
  ///             `execute`: it succeeds, and nothing more is held.
  ///
  /// [any, never] From `init` to `destroy` of `delegate`, while a run is going on: before, during
  /// and after its calls of `execute`, at most once in each run.
  void(TENON_CALL* cancel)(tenon_backend* backend, tenon_delegate* delegate);
} tenon_cancel_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_CANCEL_H
