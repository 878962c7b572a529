// SPDX-License-Identifier: MIT
// Breaks TN-BIN-2: a function runs when the library is loaded.
static volatile int loaded;
__attribute__((constructor)) static void note_load(void) { loaded = 1; }
#include "good_plugin.h"
