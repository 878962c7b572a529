// SPDX-License-Identifier: MIT
// Breaks TN-EXE-12: the outputs of several elements are zero, as of an accelerator that did
// nothing.
#include "good.h"

static void after_run(const tenon_tensor* out) {
  if (good_numel(out) == 1) return;  // One element that is 0 is a wrong number (TN-EXE-7).
  for (int64_t i = 0; i < good_numel(out); ++i) *good_element(out, i) = 0.0f;
}

#define ZOO_AFTER_RUN after_run(out)
#include "good_plugin.h"
