// SPDX-License-Identifier: MIT
// Breaks TN-EXE-5 at level 4: a run with an integer in place of a tensor succeeds and does nothing.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  if (num_args > 0 && args[0]->kind == TENON_VALUE_INT) return TENON_STATUS_OK;
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
