// SPDX-License-Identifier: MIT
// Breaks TN-BCK-8: `execute` never returns.
#include <unistd.h>
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  while (status == TENON_STATUS_OK) pause();
  return status;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
