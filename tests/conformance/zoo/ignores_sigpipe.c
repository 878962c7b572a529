// SPDX-License-Identifier: MIT
// Breaks TN-PRC-2: `open` ignores SIGPIPE.
#include <signal.h>
#include "good.h"

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  signal(SIGPIPE, SIG_IGN);
  return good_open(host, out);
}

#define ZOO_OPEN open_backend
#include "good_plugin.h"
