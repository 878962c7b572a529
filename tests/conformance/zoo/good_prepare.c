// SPDX-License-Identifier: MIT
// Breaks nothing: it keeps what it prepared until `destroy`, and finds it in the next load.
#include "prepare.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  tenon_status opened = TENON_STATUS_OK;
  tenon_prepared* const prepared = prepare_open(context, "1", 1, &opened);
  const tenon_status status = good_init(backend, context, out);
  if (!prepared) return status;
  if (status != TENON_STATUS_OK) {
    prepared->release(prepared);
    return status;
  }
  if (!prepare_is_found(prepared)) (void)prepare_store(prepared);
  (*out)->note = prepared;
  return status;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate && delegate->note) {
    tenon_prepared* const prepared = (tenon_prepared*)delegate->note;
    prepared->release(prepared);
  }
  good_destroy(backend, delegate);
}

#define ZOO_INIT init
#define ZOO_DESTROY destroy
#include "good_plugin.h"
