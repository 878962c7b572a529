// SPDX-License-Identifier: MIT
// Breaks TN-AEX-1 at level 5: exporters may use a function that models do not find.
#define ZOO_SERVES_MUL 0
#include "aoti.h"
#include "good_plugin.h"
