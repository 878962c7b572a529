// SPDX-License-Identifier: MIT
// Breaks TN-INI-4: `init` succeeds without a delegate.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  tenon_delegate* mine = NULL;
  const tenon_status status = good_init(backend, context, &mine);
  (void)out;
  if (status == TENON_STATUS_OK) good_destroy(backend, mine);
  return status;
}

#define ZOO_INIT init
#include "good_plugin.h"
