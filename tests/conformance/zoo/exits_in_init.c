// SPDX-License-Identifier: MIT
// Breaks TN-BCK-7: `init` ends the process with exit code 0.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK) exit(0);
  return status;
}

#define ZOO_INIT init
#include "good_plugin.h"
