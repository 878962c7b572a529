// SPDX-License-Identifier: MIT
// Breaks TN-SEQ-4 at level 5: a part of the state belongs to all delegates.
#include "good.h"

static atomic_llong all_runs;

#define ZOO_STATE_PARTS(delegate) \
  {"runs", &(delegate)->runs, sizeof(delegate)->runs}, { "all runs", &all_runs, sizeof all_runs }
#define ZOO_BEFORE_RUN atomic_fetch_add(&all_runs, 1)
#include "sequence.h"
