// SPDX-License-Identifier: MIT
// Breaks TN-EXE-11 at level 5: once it ran at the largest sizes, smaller ones give other numbers.
#include "good.h"

static void after_run(tenon_delegate* delegate, const tenon_tensor* out) {
  int is_dynamic = 0, is_largest = 1;
  for (int32_t d = 0; d < out->dl.ndim; ++d) {
    is_dynamic |= out->shape_dynamism != TENON_SHAPE_STATIC;
    is_largest &= out->dl.shape[d] == out->bounds[d];
  }
  // A flag on the delegate: it ran at its bounds.
  if (is_dynamic && is_largest) delegate->note = delegate;
  if (delegate->note && !is_largest) *good_element(out, 0) += 1.0f;
}

#define ZOO_AFTER_RUN after_run(delegate, out)
#include "good_plugin.h"
