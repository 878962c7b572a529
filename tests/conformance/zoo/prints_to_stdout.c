// SPDX-License-Identifier: MIT
// Breaks TN-PRC-5: `execute` prints to standard output.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  printf("running\n");
  fflush(stdout);
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
