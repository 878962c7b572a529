// SPDX-License-Identifier: MIT
// Breaks TN-PRP-2 at level 5: what it opened is never released.
#include "prepare.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  tenon_status opened = TENON_STATUS_OK;
  tenon_prepared* const prepared = prepare_open(context, "1", 1, &opened);
  if (prepared && !prepare_is_found(prepared)) (void)prepare_store(prepared);
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
