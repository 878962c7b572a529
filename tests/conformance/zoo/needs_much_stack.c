// SPDX-License-Identifier: MIT
// Breaks TN-BCK-7 at level 3: `execute` uses 1 MiB of stack, more than a small thread has.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  volatile char pages[1 << 20];
  for (size_t i = sizeof pages; i >= 4096; i -= 4096) pages[i - 1] = 1;
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
