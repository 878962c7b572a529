// SPDX-License-Identifier: MIT
// Breaks TN-PRP-4 at level 5: it prepares and stores again what it found.
#include "prepare.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  tenon_status opened = TENON_STATUS_OK;
  tenon_prepared* const prepared = prepare_open(context, "1", 1, &opened);
  if (prepared) {
    (void)prepare_store(prepared);
    prepared->release(prepared);
  }
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
