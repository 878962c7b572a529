// SPDX-License-Identifier: MIT
// Breaks nothing: a part of its runs is done on the application's threads.
#include "pool.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_thread_pool* const pool = pool_of(context);
  const tenon_status status = pool ? pool_use(pool, backend->host) : TENON_STATUS_OK;
  if (status != TENON_STATUS_OK) return status;
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
