// SPDX-License-Identifier: MIT
// Breaks TN-BIN-12: it is linked with -z execstack.
// Only in ELF.
#include "good_plugin.h"
