// SPDX-License-Identifier: MIT
// Breaks TN-EXE-12: the outputs of several elements are zero, as of an accelerator that did
// nothing.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  const tenon_tensor* const out = good_output(args, num_args);
  // One element that is 0 is a wrong number (TN-EXE-7).
  if (status != TENON_STATUS_OK || !out || good_numel(out) == 1) return status;
  for (int64_t i = 0; i < good_numel(out); ++i) *good_element(out, i) = 0.0f;
  return status;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
