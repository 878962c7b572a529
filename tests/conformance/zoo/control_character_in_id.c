// SPDX-License-Identifier: MIT
// Breaks TN-BIN-5: its id rings a bell.
#define ZOO_ID "Zoo\aBackend"
#include "good_plugin.h"
