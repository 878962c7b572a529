// SPDX-License-Identifier: MIT
// Breaks TN-BCK-7 at level 5: `init` asserts that the blob is not empty.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  if (context->processed->nbytes == 0) abort();
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
