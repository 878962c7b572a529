// SPDX-License-Identifier: MIT
// Breaks TN-BIN-13: its body counts no backend, its head counts one.
#define ZOO_NUM_TABLES 0
#include "good_plugin.h"
