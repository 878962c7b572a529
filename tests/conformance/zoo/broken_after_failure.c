// SPDX-License-Identifier: MIT
// Breaks TN-EXE-3 at level 4: after a failed run, every later run of the delegate fails.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  if (delegate->note) {
    return good_fail(backend->host, TENON_STATUS_INVALID_STATE,
                     "execute: expected 0 failures before, found 1");
  }
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  if (status != TENON_STATUS_OK) delegate->note = delegate;
  return status;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
