// SPDX-License-Identifier: MIT
// Breaks TN-HST-1: `init` reads beyond the end of its context.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  (void)*((const volatile char*)context + context->struct_size);
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
