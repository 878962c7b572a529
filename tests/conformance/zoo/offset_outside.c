// SPDX-License-Identifier: MIT
// Breaks TN-BIN-4: its body lies behind its object.
#define ZOO_BODY_OFFSET sizeof(zoo_object)
#include "good_plugin.h"
