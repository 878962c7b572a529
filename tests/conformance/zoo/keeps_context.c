// SPDX-License-Identifier: MIT
// Breaks TN-INI-3: `execute` reads the context of `init`.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK) (*out)->note = (void*)(uintptr_t)context;
  return status;
}

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const volatile tenon_init_context* const kept = (tenon_init_context*)delegate->note;
  if (kept && kept->host != backend->host) {
    return good_fail(backend->host, TENON_STATUS_INVALID_STATE,
                     "context of init: expected the host there, found another");
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_INIT init
#define ZOO_EXECUTE execute
#include "good_plugin.h"
