// SPDX-License-Identifier: MIT
// Breaks TN-INT-2 at level 5: an intermediate result has sizes that are not those of its bytes.
#define ZOO_LAST_SIZE(size) ((size) + 1)
#include "good_intermediates.h"
