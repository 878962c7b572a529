// SPDX-License-Identifier: MIT
// Breaks TN-EXE-1: a second run of a delegate is refused.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  if (delegate->runs > 0) {
    return good_fail(backend->host, TENON_STATUS_INVALID_STATE,
                     "execute: expected no run before this one, found %lld",
                     (long long)delegate->runs);
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
