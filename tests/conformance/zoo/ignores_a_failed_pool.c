// SPDX-License-Identifier: MIT
// Breaks TN-THR-2 at level 5: a run succeeds although the pool did not do its work.
#include "pool.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_thread_pool* const pool = pool_of(context);
  if (pool) (void)pool_use(pool, backend->host);
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
