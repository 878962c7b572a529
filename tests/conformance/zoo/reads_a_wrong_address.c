// SPDX-License-Identifier: MIT
// Breaks TN-BCK-7: `execute` reads address 0x10. Nothing but a run shows it.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const volatile uint32_t* const wrong = (const volatile uint32_t*)(uintptr_t)0x10;
  if (*wrong == 0) return TENON_STATUS_INTERNAL;
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
