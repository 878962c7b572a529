// SPDX-License-Identifier: MIT
// Breaks TN-SEQ-2 at level 5: the number of runs, of which outputs depend, is in no part.
#define ZOO_STATE_PARTS(delegate) {"note", &(delegate)->note, sizeof(delegate)->note}
#include "sequence.h"
