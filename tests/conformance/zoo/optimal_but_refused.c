// SPDX-License-Identifier: MIT
// Breaks TN-BLB-3 at level 5: `check_blob` reports every blob as optimal, also those that `init`
// refuses.
#include "good.h"

static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                               uint32_t* verdict) {
  (void)backend;
  (void)context;
  *verdict = TENON_BLOB_OPTIMAL;
  return TENON_STATUS_OK;
}

#define ZOO_CHECK_BLOB check_blob
#include "good_plugin.h"
