// SPDX-License-Identifier: MIT
// Breaks TN-PRP-1 at level 5: a load that finds what was kept computes something else.
#include "prepare.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  tenon_status opened = TENON_STATUS_OK;
  tenon_prepared* const prepared = prepare_open(context, "1", 1, &opened);
  const tenon_status status = good_init(backend, context, out);
  if (!prepared) return status;
  if (prepare_is_found(prepared)) {
    if (status == TENON_STATUS_OK) (*out)->model->added += 1.0f;
  } else {
    (void)prepare_store(prepared);
  }
  prepared->release(prepared);
  return status;
}

#define ZOO_INIT init
#include "good_plugin.h"
