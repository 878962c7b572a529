// SPDX-License-Identifier: MIT
// Breaks TN-EVT-16 at level 3: a host's function for an event is called twice.
#define ZOO_CALL_BACK(function, data) ((function)(data), (function)(data))
#include "events.h"

#include "good_plugin.h"
