// SPDX-License-Identifier: MIT
// Breaks TN-THR-3 at level 5: the outputs depend on the number of threads.
#include "pool.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_thread_pool* const pool = pool_of(context);
  const tenon_status outcome = pool_execute(backend, delegate, context, args, num_args);
  if (outcome != TENON_STATUS_OK || !pool || pool->num_threads < 8) return outcome;
  const tenon_tensor* const out = args[num_args - 1]->as.tensor;
  const int64_t numel = good_numel(out);
  for (int64_t i = 0; i < numel; ++i) *good_element(out, i) += 0.001f;
  return outcome;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
