// SPDX-License-Identifier: MIT
// Breaks TN-BIN-12: its run path is a folder in which everyone may write.
#include "good_plugin.h"
