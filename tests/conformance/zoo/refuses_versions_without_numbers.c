// SPDX-License-Identifier: MIT
// Breaks TN-INI-2 at level 5: an unknown version is refused without naming it.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_status status = good_init(backend, context, out);
  if (status != TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY) return status;
  return good_fail(backend->host, status, "blob: expected a blob that fits, found another");
}

#define ZOO_INIT init
#include "good_plugin.h"
