// SPDX-License-Identifier: MIT
// Breaks TN-EXE-11 at level 5: once it ran at the largest sizes, smaller ones give other numbers.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  const tenon_tensor* const out = good_output(args, num_args);
  if (status != TENON_STATUS_OK || !out) return status;
  int is_dynamic = 0, is_largest = 1;
  for (int32_t d = 0; d < out->dl.ndim; ++d) {
    is_dynamic |= out->shape_dynamism != TENON_SHAPE_STATIC;
    is_largest &= out->dl.shape[d] == out->bounds[d];
  }
  // A flag on the delegate: it ran at its bounds.
  if (is_dynamic && is_largest) delegate->note = delegate;
  if (delegate->note && !is_largest) *good_element(out, 0) += 1.0f;
  return status;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
