// SPDX-License-Identifier: MIT
// Breaks nothing: its runs can be cancelled.
#include "good.h"

static void cancel(tenon_backend* backend, tenon_delegate* delegate) {
  (void)backend;
  (void)delegate;  // Nothing waits: `execute` looks at the flag.
}

#define ZOO_CANCEL cancel
#include "cancel.h"

#include "good_plugin.h"
