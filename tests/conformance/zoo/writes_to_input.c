// SPDX-License-Identifier: MIT
// Breaks TN-EXE-2 at level 4: `execute` changes the first element of its first input.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  if (status == TENON_STATUS_OK && args[0]->as.tensor->nbytes > 0) {
    *good_data(args[0]->as.tensor) += 1.0f;
  }
  return status;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
