// SPDX-License-Identifier: MIT
// Breaks TN-TEN-4 at level 4: data that is not aligned to 16 bytes is refused.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  for (uint32_t i = 0; i < num_args && args[i]->kind == TENON_VALUE_TENSOR; ++i) {
    const float* const data = good_data(args[i]->as.tensor);
    if ((uintptr_t)data % 16 != 0) {
      return good_fail(backend->host, TENON_STATUS_INVALID_ARGUMENT,
                       "argument %u: expected data at a multiple of 16, found %p", i,
                       (const void*)data);
    }
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
