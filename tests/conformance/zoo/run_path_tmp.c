// SPDX-License-Identifier: MIT
// Breaks TN-BIN-12: its run path is a world-writable directory.
#include "good_plugin.h"
