// SPDX-License-Identifier: MIT
// Breaks TN-EXE-6 at level 4: the last element of the output is not written.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_tensor* const result = good_output(args, num_args);
  float* const last = result ? good_data(result) + result->nbytes / sizeof(float) - 1 : NULL;
  const float before = last ? *last : 0.0f;
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  if (last && status == TENON_STATUS_OK) *last = before;
  return status;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
