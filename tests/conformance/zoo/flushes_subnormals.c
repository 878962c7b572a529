// SPDX-License-Identifier: MIT
// Breaks TN-PRC-3: `init` makes the thread treat subnormal numbers as zero.
#include "float_state.h"
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  flush_subnormals();
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
