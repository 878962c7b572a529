// SPDX-License-Identifier: MIT
// Breaks TN-INI-7: `init` refuses every blob.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_status status = good_init(backend, context, out);
  if (status != TENON_STATUS_OK) return status;
  good_destroy(backend, *out);
  return good_fail(backend->host, TENON_STATUS_INVALID_PROGRAM,
                   "blob: expected one of another kind, found one of version 1");
}

#define ZOO_INIT init
#include "good_plugin.h"
