// SPDX-License-Identifier: MIT
// Breaks TN-BIN-13: the table of its backend is NULL.
#define ZOO_TABLE NULL
#include "good_plugin.h"
