// SPDX-License-Identifier: MIT
// Breaks TN-SES-4 at level 3: a session that is to begin with the state of another delegate begins
// with the state that `init` gave.
#include "good.h"

static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_session_context* context, tenon_delegate** out) {
  tenon_session_context without = *context;
  without.state = NULL;
  return good_create_session(backend, delegate, &without, out);
}

#define ZOO_CREATE_SESSION create_session
#include "good_plugin.h"
