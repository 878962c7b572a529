// SPDX-License-Identifier: MIT
// Breaks TN-BCK-7: `execute` uses more stack than a thread can have.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  volatile char pages[64 << 20];
  for (size_t i = sizeof pages; i >= 4096; i -= 4096) pages[i - 1] = 1;
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
