// SPDX-License-Identifier: MIT
// Breaks TN-SES-2 at level 3: a run of a session changes the state of the delegate that it was made
// from.
#include "good.h"

static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_session_context* context, tenon_delegate** out) {
  const tenon_status status = good_create_session(backend, delegate, context, out);
  if (status == TENON_STATUS_OK) (*out)->note = delegate;
  return status;
}

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  tenon_delegate* const parent = (tenon_delegate*)delegate->note;
  if (status == TENON_STATUS_OK && parent) ++parent->runs;
  return status;
}

#define ZOO_CREATE_SESSION create_session
#define ZOO_EXECUTE execute
#include "good_plugin.h"
