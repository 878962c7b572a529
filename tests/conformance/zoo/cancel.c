// SPDX-License-Identifier: MIT
//
// Cancelled runs (TN-CAN). README.md says how a section becomes a plugin.

#ifdef ZOO_cancelled_is_internal
// Breaks TN-CAN-1 at level 5: a run that was cancelled fails with another number.
#define ZOO_CANCELLED TENON_STATUS_INTERNAL
#include "cancel.h"
#endif

#include "good.h"

#ifdef ZOO_cancelled_is_success
// Breaks TN-CAN-1 at level 5: a run that was cancelled succeeds before its outputs are written.
#define ZOO_BEFORE_RUN \
  if (good_is_cancelled(context)) return TENON_STATUS_OK
#endif

#ifdef ZOO_cancels_the_next_run
// Breaks TN-CAN-2 at level 5: a call of `cancel` outside of `execute` ends the next one.
static atomic_int cancelled;

static void cancel(tenon_backend* backend, tenon_delegate* delegate) {
  (void)backend;
  (void)delegate;
  atomic_store(&cancelled, 1);
}

#define ZOO_CANCEL cancel
#define ZOO_IS_CANCELLED(context) (atomic_exchange(&cancelled, 0) != 0)
#include "cancel.h"
#endif

#ifdef ZOO_changes_when_cancelled
// Breaks TN-CAN-3 at level 5: after a run that was cancelled the delegate computes something else.
ZOO_EXECUTE_FUNCTION(execute) {
  if (good_is_cancelled(context)) {
    delegate->model->bias += 1.0f;
    return good_fail(backend->host, TENON_STATUS_CANCELLED, "execute: the run was cancelled");
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_good_cancel
// Breaks nothing: its runs can be cancelled.
static void cancel(tenon_backend* backend, tenon_delegate* delegate) {
  (void)backend;
  (void)delegate;  // Nothing waits: `execute` looks at the flag.
}

#define ZOO_CANCEL cancel
#include "cancel.h"
#endif

#include "good_plugin.h"
