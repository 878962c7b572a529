// SPDX-License-Identifier: MIT
// Breaks nothing: it states how much memory its delegates take.
#define STATED 1048576
#include "estimate.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  return init_with(backend, context, STATED, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
