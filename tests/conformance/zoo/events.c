// SPDX-License-Identifier: MIT
//
// Events (TN-EVT). README.md says how a section becomes a plugin.

#ifdef ZOO_calls_back_early
// Breaks TN-EVT-17 at level 3: a host's function is called before its event is complete.
#define ZOO_CALLS_LATER(asked) 0
#include "events.h"
#endif

#ifdef ZOO_calls_back_twice
// Breaks TN-EVT-16 at level 3: a host's function for an event is called twice.
#define ZOO_CALL_BACK(function, data) ((function)(data), (function)(data))
#include "events.h"
#endif

#ifdef ZOO_destroyed_event_cancels
// Breaks TN-EVT-12 at level 3: a run whose event is destroyed does not write its output.
#define ZOO_PAUSE 100
#define ZOO_DESTROYS_EVENT(event)                     \
  do {                                                \
    run* const cancelled = (event)->of;               \
    if (cancelled) {                                  \
      pthread_mutex_lock(&cancelled->mutex);          \
      if (!cancelled->is_done) cancelled->nbytes = 0; \
      pthread_mutex_unlock(&cancelled->mutex);        \
    }                                                 \
  } while (0)
#include "events.h"
#endif

#ifdef ZOO_event_completes_early
// Breaks TN-EVT-4 at level 3: an event is complete before the output of its run is written.
#define ZOO_RUN(work)                           \
  do {                                          \
    if ((work)->after) run_wait((work)->after); \
    run_finish(work);                           \
    run_wait_for_join(work);                    \
    run_write(work);                            \
  } while (0)
#include "events.h"
#endif

#ifdef ZOO_forgets_run_at_limit
// Breaks TN-EVT-15 at level 3: an event whose wait has reached its limit marks nothing any more.
#define ZOO_TIMES_OUT(event) (run_drop((event)->of), (event)->of = NULL)
#include "events.h"
#endif

#ifdef ZOO_ignores_wait_on
// Breaks TN-EVT-10 at level 3: a run does not wait for the event that `wait_on` named.
#define ZOO_PAUSE 200
#define ZOO_RUN(work)                \
  do {                               \
    if (!(work)->after) run_pause(); \
    run_write(work);                 \
    run_finish(work);                \
  } while (0)
#include "events.h"
#endif

#ifdef ZOO_wait_forgets_failure
// Breaks TN-EVT-8 at level 3: `wait` succeeds for a run that failed.
#define ZOO_WAIT_STATUS(awaited) ((void)(awaited), TENON_STATUS_OK)
#include "events.h"
#endif

#ifdef ZOO_writes_after_event
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
#endif

#include "events.h"

#ifdef ZOO_good_events
// Breaks nothing: a backend whose runs can be started, and waited for by events.
#include "events.h"
#endif

#include "good_plugin.h"
