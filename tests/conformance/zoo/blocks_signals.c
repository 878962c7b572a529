// SPDX-License-Identifier: MIT
// Breaks TN-PRC-2: `execute` leaves signals blocked.
#include <signal.h>
#include "good.h"

static void before_run(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

#define ZOO_BEFORE_RUN before_run()
#include "good_plugin.h"
