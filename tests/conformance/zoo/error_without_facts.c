// SPDX-License-Identifier: MIT
// Breaks TN-ERR-2 at level 4: the error text of a failed run names no facts.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  return status == TENON_STATUS_OK ? status : good_fail(backend->host, status, "failed");
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
