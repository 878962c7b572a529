// SPDX-License-Identifier: MIT
// Breaks TN-BCK-6 at level 3: `is_available` reports that there is no device, but it loads and
// runs.
#include "good.h"

static tenon_status is_available(tenon_backend* backend) {
  return good_fail(backend->host, TENON_STATUS_NOT_FOUND,
                   "device: expected /dev/zoo/keeper, found no such file");
}

#define ZOO_IS_AVAILABLE is_available
#include "good_plugin.h"
