// SPDX-License-Identifier: MIT
// Breaks TN-BLB-2 at level 5: `check_blob` fails for every blob, also for those that `init` loads.
#include "good.h"

static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                               uint32_t* verdict) {
  (void)context;
  (void)verdict;
  return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                   "check_blob: expected a device that can be asked, found none");
}

#define ZOO_CHECK_BLOB check_blob
#include "good_plugin.h"
