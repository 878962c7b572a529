// SPDX-License-Identifier: MIT
// Breaks TN-EXE-10: a size below the bounds is refused.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_tensor* const first =
      num_args > 0 && args[0]->kind == TENON_VALUE_TENSOR ? args[0]->as.tensor : NULL;
  for (int32_t d = 0; first && d < first->dl.ndim; ++d) {
    if (first->dl.shape[d] < first->bounds[d]) {
      return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                       "argument 0: expected size %lld in dimension %d, found %lld",
                       (long long)first->bounds[d], d, (long long)first->dl.shape[d]);
    }
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
