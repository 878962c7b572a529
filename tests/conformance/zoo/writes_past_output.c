// SPDX-License-Identifier: MIT
// Breaks TN-EXE-6 at level 4: `execute` writes one element beyond the end of the output.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  const tenon_tensor* const result = good_output(args, num_args);
  if (status == TENON_STATUS_OK && result) {
    good_data(result)[result->nbytes / sizeof(float)] = 0.0f;
  }
  return status;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
