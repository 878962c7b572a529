// SPDX-License-Identifier: MIT
// Breaks TN-BLB-2 at level 5: `check_blob` reports every blob as incompatible, but `init` loads it.
#include "good.h"

static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                               uint32_t* verdict) {
  const tenon_status status = good_check_blob(backend, context, verdict);
  if (status != TENON_STATUS_OK || *verdict == TENON_BLOB_INCOMPATIBLE) return status;
  *verdict = TENON_BLOB_INCOMPATIBLE;
  good_fail(backend->host, TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY,
            "blob: expected version 2, found version 1");
  return status;
}

#define ZOO_CHECK_BLOB check_blob
#include "good_plugin.h"
