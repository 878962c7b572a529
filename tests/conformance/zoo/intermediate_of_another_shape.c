// SPDX-License-Identifier: MIT
// Breaks TN-INT-2 at level 5: the sizes of an intermediate result do not match its bytes.
#define ZOO_LAST_SIZE(size) ((size) + 1)
#include "good_intermediates.h"
