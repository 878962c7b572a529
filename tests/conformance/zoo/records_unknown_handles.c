// SPDX-License-Identifier: MIT
// Breaks TN-INT-5 at level 5: a handle that is not listed is accepted.
#define ZOO_KNOWS_HANDLE(handle) ((handle) >= 0)
#include "good_intermediates.h"
