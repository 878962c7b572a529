// SPDX-License-Identifier: MIT
// Breaks TN-NEG-3: its head declares minor version 0, but it refuses a host of minor version 0.
#include "good.h"

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  if (host->abi_minor >= 1) return good_open(host, out);
  return good_fail(host, TENON_STATUS_NOT_SUPPORTED,
                   "ZooBackend speaks ABI %d.%d, the host %s speaks %u.%u", TENON_ABI_MAJOR,
                   TENON_ABI_MINOR, host->name, host->abi_major, host->abi_minor);
}

#define ZOO_OPEN open_backend
#include "good_plugin.h"
