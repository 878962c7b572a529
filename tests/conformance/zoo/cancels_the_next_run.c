// SPDX-License-Identifier: MIT
// Breaks TN-CAN-2 at level 5: a call of `cancel` outside of `execute` ends the next one.
#include "good.h"

static atomic_int cancelled;

static void cancel(tenon_backend* backend, tenon_delegate* delegate) {
  (void)backend;
  (void)delegate;
  atomic_store(&cancelled, 1);
}

#define ZOO_CANCEL cancel
#define ZOO_IS_CANCELLED(context) (atomic_exchange(&cancelled, 0) != 0)
#include "cancel.h"

#include "good_plugin.h"
