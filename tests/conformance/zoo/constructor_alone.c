// SPDX-License-Identifier: MIT
// Breaks TN-BIN-2: linked without the C runtime's start files, so that its constructor is the only
// entry of .init_array.
// Only in ELF.
static volatile int loaded;
__attribute__((constructor)) static void note_load(void) { loaded = 1; }
#include "good_plugin.h"
