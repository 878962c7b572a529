// SPDX-License-Identifier: MIT
// Breaks TN-PRC-4: `open` sets an environment variable.
#include <stdlib.h>
#include "good.h"

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  setenv("ZOO_NUM_THREADS", "1", 1);
  return good_open(host, out);
}

#define ZOO_OPEN open_backend
#include "good_plugin.h"
