// SPDX-License-Identifier: MIT
// Breaks TN-PRC-3: `execute` leaves the thread rounding up.
#include <fenv.h>
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  fesetround(FE_TONEAREST);
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  fesetround(FE_UPWARD);
  return status;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
