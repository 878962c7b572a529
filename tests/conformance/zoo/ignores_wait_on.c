// SPDX-License-Identifier: MIT
// Breaks TN-EVT-10 at level 3: a run does not wait for the event that `wait_on` named.
#define ZOO_PAUSE 200
#define ZOO_RUN(work)                \
  do {                               \
    if (!(work)->after) run_pause(); \
    run_write(work);                 \
    run_finish(work);                \
  } while (0)
#include "events.h"

#include "good_plugin.h"
