// SPDX-License-Identifier: MIT
//
// Sessions (TN-SES). README.md says how a section becomes a plugin.

#include "good.h"

#ifdef ZOO_session_copies_state
// Breaks TN-SES-1 at level 3: a session begins with the state of the delegate that it was made
// from.
static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_session_context* context, tenon_delegate** out) {
  const tenon_status status = good_create_session(backend, delegate, context, out);
  if (status == TENON_STATUS_OK) (*out)->runs = delegate->runs;
  return status;
}

#define ZOO_CREATE_SESSION create_session
#endif

#ifdef ZOO_session_ignores_options
// Breaks TN-SES-1 at level 5: a session that is given an option has the value of its delegate.
static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_session_context* context, tenon_delegate** out) {
  tenon_session_context without = *context;
  without.num_runtime_specs = 0;
  return good_create_session(backend, delegate, &without, out);
}

#define ZOO_CREATE_SESSION create_session
#endif

#ifdef ZOO_session_ignores_state
// Breaks TN-SES-4 at level 3: a session that is to begin with the state of another delegate begins
// with the state that `init` gave.
static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_session_context* context, tenon_delegate** out) {
  tenon_session_context without = *context;
  without.state = NULL;
  return good_create_session(backend, delegate, &without, out);
}

#define ZOO_CREATE_SESSION create_session
#endif

#ifdef ZOO_session_shares_state
// Breaks TN-SES-2 at level 3: a run of a session changes the state of the delegate that it was made
// from.
static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_session_context* context, tenon_delegate** out) {
  const tenon_status status = good_create_session(backend, delegate, context, out);
  if (status == TENON_STATUS_OK) (*out)->note = delegate;
  return status;
}

ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  tenon_delegate* const parent = (tenon_delegate*)delegate->note;
  if (status == TENON_STATUS_OK && parent) ++parent->runs;
  return status;
}

#define ZOO_CREATE_SESSION create_session
#define ZOO_EXECUTE execute
#endif

#include "good_plugin.h"
