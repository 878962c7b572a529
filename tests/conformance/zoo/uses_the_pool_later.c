// SPDX-License-Identifier: MIT
// Breaks TN-THR-1 at level 5: `destroy` uses the pool of an earlier run.
#include "pool.h"

static _Atomic(const tenon_thread_pool*) kept;

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  const tenon_thread_pool* const pool = atomic_exchange(&kept, NULL);
  atomic_uint done = 0;
  if (pool) (void)pool->parallel_for(pool, pool_parts, 2, pool_count, &done);
  good_destroy(backend, delegate);
}

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = pool_execute(backend, delegate, context, args, num_args);
  if (status == TENON_STATUS_OK) atomic_store(&kept, pool_of(context));
  return status;
}

#define ZOO_EXECUTE execute
#define ZOO_DESTROY destroy
#include "good_plugin.h"
