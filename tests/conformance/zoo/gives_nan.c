// SPDX-License-Identifier: MIT
// Breaks TN-EXE-12: an element of the output is no number.
#include <math.h>

#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  const tenon_tensor* const out = good_output(args, num_args);
  if (status == TENON_STATUS_OK && out) *good_element(out, good_numel(out) - 1) = NAN;
  return status;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
