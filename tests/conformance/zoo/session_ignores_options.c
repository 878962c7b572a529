// SPDX-License-Identifier: MIT
// Breaks TN-SES-1 at level 5: a session that is given an option has the value of its delegate.
#include "good.h"

static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_session_context* context, tenon_delegate** out) {
  tenon_session_context without = *context;
  without.num_runtime_specs = 0;
  return good_create_session(backend, delegate, &without, out);
}

#define ZOO_CREATE_SESSION create_session
#include "good_plugin.h"
