// SPDX-License-Identifier: MIT
// Breaks TN-BIN-9: its head has the pointer size of another machine.
#define ZOO_POINTER_SIZE (sizeof(void*) / 2)
#include "good_plugin.h"
