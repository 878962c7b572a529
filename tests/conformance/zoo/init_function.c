// SPDX-License-Identifier: MIT
// Breaks TN-BIN-2: the linker was told to have a function called when the library is loaded.
// Only in ELF.
static volatile int loaded;
extern void note_load(void);
void note_load(void) { loaded = 1; }
#include "good_plugin.h"
