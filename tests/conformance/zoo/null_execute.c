// SPDX-License-Identifier: MIT
// Breaks TN-BCK-3: its table has no `execute`.
#define ZOO_EXECUTE NULL
#include "good_plugin.h"
