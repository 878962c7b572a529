// SPDX-License-Identifier: MIT
// Breaks TN-TEN-1: `execute` writes the same value back to a constant.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  for (uint32_t i = 0; status == TENON_STATUS_OK && i < num_args; ++i) {
    const tenon_tensor* const tensor = args[i]->as.tensor;
    if ((tensor->flags & TENON_TENSOR_CONSTANT) != 0 && tensor->nbytes > 0) {
      volatile float* const first = good_data(tensor);
      *first = *first;
    }
  }
  return status;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
