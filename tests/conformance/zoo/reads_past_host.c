// SPDX-License-Identifier: MIT
// Breaks TN-HST-1: `open` reads beyond the end of the host struct.
#include "good.h"

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  (void)((const volatile char*)host)[host->struct_size];
  return good_open(host, out);
}

#define ZOO_OPEN open_backend
#include "good_plugin.h"
