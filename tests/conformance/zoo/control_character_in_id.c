// SPDX-License-Identifier: MIT
// Breaks TN-BIN-7: the id holds a control character.
#define ZOO_ID "Zoo\aBackend"
#include "good_plugin.h"
