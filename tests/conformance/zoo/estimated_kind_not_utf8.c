// SPDX-License-Identifier: MIT
// Breaks TN-EST-1 at level 5: the kind of what it estimates is not UTF-8.
#define STATED 16
#define ESTIMATED_KIND "zoo.work\xff"
#include "estimate.h"
#include "good_plugin.h"
