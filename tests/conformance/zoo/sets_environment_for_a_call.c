// SPDX-License-Identifier: MIT
// Breaks TN-PRC-4: `init` sets an environment variable, and unsets it before it returns.
#include <stdlib.h>

#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  setenv("ZOO_NUM_THREADS", "1", 1);
  const tenon_status status = good_init(backend, context, out);
  unsetenv("ZOO_NUM_THREADS");
  return status;
}

#define ZOO_INIT init
#include "good_plugin.h"
