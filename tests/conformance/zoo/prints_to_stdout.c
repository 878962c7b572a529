// SPDX-License-Identifier: MIT
// Breaks TN-PRC-5: `execute` prints to standard output.
#include "good.h"

static void before_run(void) {
  printf("running\n");
  fflush(stdout);
}

#define ZOO_BEFORE_RUN before_run()
#include "good_plugin.h"
