// SPDX-License-Identifier: MIT
// Breaks TN-EST-2 at level 5: its delegates take much more memory than it states.
#define STATED 1000
#include "estimate.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  return init_with(backend, context, 1048576, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
