// SPDX-License-Identifier: MIT
// Breaks TN-EVT-4 at level 3: an event is complete before the output of its run is written.
#define ZOO_RUN(work)                           \
  do {                                          \
    if ((work)->after) run_wait((work)->after); \
    run_finish(work);                           \
    run_wait_for_join(work);                    \
    run_write(work);                            \
  } while (0)
#include "events.h"

#include "good_plugin.h"
