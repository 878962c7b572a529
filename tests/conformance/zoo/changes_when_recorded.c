// SPDX-License-Identifier: MIT
// Breaks TN-INT-4 at level 5: a run whose intermediate results are given has another output.
#include "good.h"

static inline void change(const tenon_tensor* output) {
  if (output) *good_data(output) += 1.0f;
}
#define ZOO_AFTER_GIVING(output) change(output)
#include "good_intermediates.h"
