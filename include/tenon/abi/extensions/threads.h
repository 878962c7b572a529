// SPDX-License-Identifier: MIT
//
// Extension "tenon.threads/1" of a host: the threads on which plugins compute, so that the methods
// of an application share one pool and do not each make their own.

#ifndef TENON_ABI_EXTENSIONS_THREADS_H
#define TENON_ABI_EXTENSIONS_THREADS_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_THREADS "tenon.threads/1"

/// A part of the work of a plugin: the numbers from `begin` up to, and without, `end`. `worker` is
/// the number of a place to work in, below `num_threads`, for memory of which each call that runs
/// at the same time needs one (TN-THR-6). Returns OK or a failure, and lets no exception out.
///
/// [any] Inside `parallel_for`.
typedef tenon_status(TENON_CALL* tenon_range_function)(void* data, uint32_t worker, uint64_t begin,
                                                       uint64_t end);

/// Threads of the application.
///
///   TN-THR-1  A plugin MUST NOT use a pool outside of the call that got it: once the call has
///             returned, or the event that it signals is complete, no call of `parallel_for` runs
///             or begins.
///   TN-THR-2  When `parallel_for` fails, the call that it is part of MUST fail.
///   TN-THR-3  `num_threads`, how a pool divides its work, and the numbers of its workers MUST NOT
///             change the outputs: they are the same, bit for bit, unless the author states
///             otherwise.
///   TN-THR-4  A call of `f` MUST NOT wait for another one: a pool may run them one after the
///             other.
typedef struct tenon_thread_pool {
  uint32_t struct_size;

  /// Calls of `f` that may run at once, of all that use the pool: 1 or more. A plugin whose library
  /// has threads of its own, and cannot use others, limits them to this number.
  uint32_t num_threads;

  /// The numbers that the operating system gives the processors on which the threads run, where
  /// the application says so; NULL otherwise.
  const uint32_t* processors;
  uint32_t num_processors;
  uint32_t reserved;

  /// Calls `f` with `data` for ranges that together are the numbers below `n`, each of them once.
  /// A range begins at a multiple of `grain`, 0 being the same as 1, and may have any length. The
  /// calls run on the calling thread and on others, at most `num_threads` at once, in any order,
  /// and all have returned when `parallel_for` returns.
  ///
  /// `parallel_for` fails with the failure of `f` that came first; what was not begun by then may
  /// be left out. It fails with one of its own, such as OUT_OF_RESOURCES, when it could not call
  /// `f` for each range.
  ///
  /// A `parallel_for` from inside of `f` counts its workers anew: its numbers say nothing about the
  /// worker of the call of `f` that it is in, and each of the two needs memory of its own. That
  /// call keeps its number until it returns.
  ///
  ///   TN-THR-5  A host MUST accept calls of `parallel_for` from several threads at once, and from
  ///             inside of `f`.
  ///   TN-THR-6  A host MUST give each call of `f` a `worker` below `num_threads`, and MUST NOT
  ///             give one number to two calls of `f` that run at the same time in one
  ///             `parallel_for`.
  ///
  /// [any] From the thread of the call that got the pool, from `f`, and from other threads of the
  /// plugin until that call has returned or the event that it signals is complete.
  tenon_status(TENON_CALL* parallel_for)(const struct tenon_thread_pool* pool, uint64_t n,
                                         uint64_t grain, tenon_range_function f, void* data);
} tenon_thread_pool;

/// Functions of the host.
typedef struct tenon_threads_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// The pool of the method that the call is part of, or NULL when the application gave none; the
  /// plugin then computes on threads of its own, or on the calling one. It is the same in all calls
  /// of the method.
  ///
  /// [per-delegate, null] Inside the call of `execute`, `start` or `run_kernel` that got `context`,
  /// which is the object to pass. The result is valid until the call returns or the event that it
  /// signals is complete.
  const tenon_thread_pool*(TENON_CALL* get_pool)(const tenon_execution_context* context);

  /// The pool of the method that `init` is called for, or NULL when the application gave none. In
  /// `init` a plugin that cannot use the pool learns the number of threads that its library may
  /// have, and may load on the pool.
  ///
  /// [per-delegate, null] Inside the call of `init` that got `context`, which is the object to
  /// pass. The result is valid until the call returns.
  const tenon_thread_pool*(TENON_CALL* get_pool_of_init)(const tenon_init_context* context);
} tenon_threads_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_THREADS_H
