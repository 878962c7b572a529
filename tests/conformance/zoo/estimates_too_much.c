// SPDX-License-Identifier: MIT
// Breaks TN-EST-3 at level 5: its delegates take much less memory than it states.
#define STATED 1048576
#include "estimate.h"
#include "good_plugin.h"
