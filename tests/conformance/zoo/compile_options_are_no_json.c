// SPDX-License-Identifier: MIT
// Breaks TN-AEX-3 at level 5: the options for the compiler are not JSON.
#define ZOO_COMPILE_OPTIONS "max_autotune=1"
#include "aoti.h"
#include "good_plugin.h"
