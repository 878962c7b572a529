// SPDX-License-Identifier: MIT
// Breaks TN-BIN-5: its id is empty.
#define ZOO_ID ""
#include "good_plugin.h"
