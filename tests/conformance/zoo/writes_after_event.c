// SPDX-License-Identifier: MIT
// Breaks TN-EVT-5 at level 3: the output is written once more when its event is complete.
#define ZOO_PAUSE 60
#define ZOO_RUN(work)                           \
  do {                                          \
    if ((work)->after) run_wait((work)->after); \
    run_write(work);                            \
    run_finish(work);                           \
    run_pause();                                \
    run_write(work);                            \
  } while (0)
#include "events.h"

#include "good_plugin.h"
