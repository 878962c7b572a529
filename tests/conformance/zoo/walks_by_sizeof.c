// SPDX-License-Identifier: MIT
// Breaks TN-BCK-10 at level 3: the step between compile specs is the size of today's struct.
#define ZOO_STEP(first) sizeof *(first)
#include "good.h"

#include "good_plugin.h"
