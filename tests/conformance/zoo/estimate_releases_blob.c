// SPDX-License-Identifier: MIT
// Breaks TN-EST-1 at level 5: it gives the blob back that it is to look at.
#define STATED 16
#define BEFORE_ESTIMATE(context) (context)->processed->release((context)->processed)
#include "estimate.h"
#include "good_plugin.h"
