// SPDX-License-Identifier: MIT
// Breaks TN-CAN-3 at level 5: after a run that was cancelled the delegate computes something else.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  if (good_is_cancelled(context)) {
    delegate->model->bias += 1.0f;
    return good_fail(backend->host, TENON_STATUS_CANCELLED, "execute: the run was cancelled");
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
