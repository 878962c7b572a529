// SPDX-License-Identifier: MIT
// Breaks TN-PRP-3 at level 5: it does not load when what it prepared cannot be kept.
#include "prepare.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  tenon_status status = TENON_STATUS_OK;
  tenon_prepared* const prepared = prepare_open(context, "1", 1, &status);
  if (prepared) {
    if (!prepare_is_found(prepared)) status = prepare_store(prepared);
    prepared->release(prepared);
  }
  if (status != TENON_STATUS_OK && status != TENON_STATUS_NOT_SUPPORTED) {
    return good_fail(backend->host, status, "init: what was prepared cannot be kept");
  }
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
