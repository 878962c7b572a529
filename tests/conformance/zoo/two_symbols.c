// SPDX-License-Identifier: MIT
// Breaks TN-BIN-1: it exports a function as well.
extern int another_symbol(void);
__attribute__((visibility("default"))) int another_symbol(void) { return 1; }
#include "good_plugin.h"
