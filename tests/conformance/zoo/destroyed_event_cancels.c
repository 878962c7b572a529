// SPDX-License-Identifier: MIT
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

#include "good_plugin.h"
