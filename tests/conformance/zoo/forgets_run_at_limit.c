// SPDX-License-Identifier: MIT
// Breaks TN-EVT-15 at level 3: an event whose wait has reached its limit marks nothing any more.
#define ZOO_TIMES_OUT(event) (run_drop((event)->of), (event)->of = NULL)
#include "events.h"

#include "good_plugin.h"
