// SPDX-License-Identifier: MIT
// Breaks TN-EXE-6 at level 4: `execute` writes one element beyond the end of the output.
#include "good.h"

#define ZOO_AFTER_RUN good_data(out)[out->nbytes / sizeof(float)] = 0.0f
#include "good_plugin.h"
