// SPDX-License-Identifier: MIT
// Breaks TN-BIN-1: its object has the wrong name.
#define ZOO_SYMBOL tenon_plugin_v2
#include "good_plugin.h"
