// SPDX-License-Identifier: MIT
// Breaks TN-BIN-10: it is linked with -z nodelete.
// Only in ELF.
#include "good_plugin.h"
