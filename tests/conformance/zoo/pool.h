// SPDX-License-Identifier: MIT
//
// A part of `execute` on the application's threads, for plugins of the zoo.

#ifndef TENON_ZOO_POOL_H
#define TENON_ZOO_POOL_H

#include "good.h"

/// The threads of the call, or NULL where the application gave none.
static inline const tenon_thread_pool* pool_of(const tenon_execution_context* context) {
  const tenon_host* const host = context->host;
  if (!ZOO_HAS(host, tenon_host, get_extension)) return NULL;
  const tenon_threads_v1* const table =
      (const tenon_threads_v1*)host->get_extension(host, TENON_EXTENSION_THREADS);
  return table ? table->get_pool(context) : NULL;
}

enum { pool_parts = 8 };

static inline tenon_status pool_count(void* data, uint32_t worker, uint64_t begin, uint64_t end) {
  (void)worker;
  atomic_fetch_add((atomic_uint*)data, (unsigned)(end - begin));
  return TENON_STATUS_OK;
}

/// Counts the parts on `pool`.
static inline tenon_status pool_use(const tenon_thread_pool* pool, const tenon_host* host) {
  atomic_uint done = 0;
  const tenon_status status = pool->parallel_for(pool, pool_parts, 2, pool_count, &done);
  if (status != TENON_STATUS_OK) return good_fail(host, status, "execute: the pool failed");
  if (done == pool_parts) return TENON_STATUS_OK;
  return good_fail(host, TENON_STATUS_INTERNAL, "execute: expected %d parts, found %u", pool_parts,
                   (unsigned)done);
}

/// Counts the parts on the threads of the call, if it has some, and then runs the delegate.
static inline tenon_status pool_execute(tenon_backend* backend, tenon_delegate* delegate,
                                        const tenon_execution_context* context,
                                        tenon_value* const* args, uint32_t num_args) {
  const tenon_thread_pool* const pool = pool_of(context);
  const tenon_status status = pool ? pool_use(pool, backend->host) : TENON_STATUS_OK;
  if (status != TENON_STATUS_OK) return status;
  return good_execute(backend, delegate, context, args, num_args);
}

/// Makes the numbers of a run differ.
static inline void pool_change(const tenon_tensor* out) {
  const int64_t numel = good_numel(out);
  for (int64_t i = 0; i < numel; ++i) *good_element(out, i) += 0.001f;
}

#endif  // TENON_ZOO_POOL_H
