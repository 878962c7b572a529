// SPDX-License-Identifier: MIT
// Breaks TN-BIN-9: its magic number is wrong.
#define ZOO_MAGIC {0x89, 'T', 'E', 'N', 'O', 'R', '1', '\n'}
#include "good_plugin.h"
