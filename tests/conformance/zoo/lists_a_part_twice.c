// SPDX-License-Identifier: MIT
// Breaks TN-SEQ-1 at level 5: two parts of a state have one name.
#define ZOO_STATE_PARTS(delegate)                        \
  {"runs", &(delegate)->runs, sizeof(delegate)->runs}, { \
    "runs", &(delegate)->runs, sizeof(delegate)->runs    \
  }
#include "sequence.h"
