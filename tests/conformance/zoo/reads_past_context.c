// SPDX-License-Identifier: MIT
// Breaks TN-HST-1 at level 3: `init` reads `permit_code` beyond the end of an older context.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  (void)((const volatile tenon_init_context*)context)->permit_code;
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
