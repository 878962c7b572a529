// SPDX-License-Identifier: MIT
// Breaks TN-PRC-5: `init` prints to standard error.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  fprintf(stderr, "loading\n");
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
