// SPDX-License-Identifier: MIT
// Breaks TN-BCK-4: the error text does not name the versions.
#include "good.h"

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  if (host->abi_major == TENON_ABI_MAJOR) return good_open(host, out);
  return good_fail(host, TENON_STATUS_NOT_SUPPORTED,
                   "open: expected a host of the right version, found one of another");
}

#define ZOO_OPEN open_backend
#include "good_plugin.h"
