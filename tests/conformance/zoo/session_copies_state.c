// SPDX-License-Identifier: MIT
// Breaks TN-SES-1 at level 3: a session begins with the state of the delegate that it was made
// from.
#include "good.h"

static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_session_context* context, tenon_delegate** out) {
  const tenon_status status = good_create_session(backend, delegate, context, out);
  if (status == TENON_STATUS_OK) (*out)->runs = delegate->runs;
  return status;
}

#define ZOO_CREATE_SESSION create_session
#include "good_plugin.h"
