// SPDX-License-Identifier: MIT
// Breaks TN-BCK-7 at level 3: `execute` uses 1 MiB of stack, more than a small thread has.
#include "good.h"

static void before_run(void) {
  volatile char pages[1 << 20];
  for (size_t i = sizeof pages; i >= 4096; i -= 4096) pages[i - 1] = 1;
}

#define ZOO_BEFORE_RUN before_run()
#include "good_plugin.h"
