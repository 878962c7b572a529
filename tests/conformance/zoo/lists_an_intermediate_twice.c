// SPDX-License-Identifier: MIT
// Breaks TN-INT-1 at level 5: one handle is listed twice.
#define ZOO_NAMES {0, 1, 0}
#include "good_intermediates.h"
