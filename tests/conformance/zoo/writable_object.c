// SPDX-License-Identifier: MIT
// Breaks TN-BIN-1: the exported object is a variable and stays writable.
// Only in ELF.
#define ZOO_CONST
#include "good_plugin.h"
