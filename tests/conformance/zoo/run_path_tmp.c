// SPDX-License-Identifier: MIT
// Breaks TN-BIN-12: its run path is a world-writable directory.
// Only in ELF.
#include "good_plugin.h"
