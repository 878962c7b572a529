// SPDX-License-Identifier: MIT
// Breaks TN-EVT-17 at level 3: a host's function is called before its event is complete.
#define ZOO_CALLS_LATER(asked) 0
#include "events.h"

#include "good_plugin.h"
