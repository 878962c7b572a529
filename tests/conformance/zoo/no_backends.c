// SPDX-License-Identifier: MIT
// Breaks TN-BIN-4: its head counts no backend.
#define ZOO_NUM_BACKENDS 0
#define ZOO_NUM_TABLES 0
#include "good_plugin.h"
