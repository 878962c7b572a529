// SPDX-License-Identifier: MIT
// Breaks TN-THR-3 at level 5: the outputs depend on the numbers of the workers.
#include "pool.h"

static tenon_status note_worker(void* data, uint32_t worker, uint64_t begin, uint64_t end) {
  (void)begin;
  (void)end;
  if (worker > 1) atomic_store((atomic_uint*)data, 1);
  return TENON_STATUS_OK;
}

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_thread_pool* const pool = pool_of(context);
  atomic_uint has_third = 0;
  const tenon_status status =
      pool ? pool->parallel_for(pool, pool_parts, 2, note_worker, &has_third) : TENON_STATUS_OK;
  if (status != TENON_STATUS_OK) return good_fail(backend->host, status, "execute: the pool");
  const tenon_status outcome = good_execute(backend, delegate, context, args, num_args);
  if (outcome != TENON_STATUS_OK || has_third == 0) return outcome;
  const tenon_tensor* const out = args[num_args - 1]->as.tensor;
  const int64_t numel = good_numel(out);
  for (int64_t i = 0; i < numel; ++i) *good_element(out, i) += 0.001f;
  return outcome;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
