// SPDX-License-Identifier: MIT
// Breaks TN-CAN-1 at level 5: a run that was cancelled succeeds before its outputs are written.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  if (good_is_cancelled(context)) return TENON_STATUS_OK;
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
