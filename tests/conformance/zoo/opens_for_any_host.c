// SPDX-License-Identifier: MIT
// Breaks TN-BCK-4: it opens for a host of another major version.
#include "good.h"

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  tenon_host like_ours = *host;
  like_ours.abi_major = TENON_ABI_MAJOR;
  const tenon_status status = good_open(&like_ours, out);
  if (status == TENON_STATUS_OK) (*out)->host = host;
  return status;
}

#define ZOO_OPEN open_backend
#include "good_plugin.h"
