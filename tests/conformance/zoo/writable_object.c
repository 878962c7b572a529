// SPDX-License-Identifier: MIT
// Breaks TN-BIN-1: the exported object is a variable and stays writable.
#define ZOO_CONST
#include "good_plugin.h"
