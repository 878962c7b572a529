// SPDX-License-Identifier: MIT
// Breaks TN-BCK-7: `execute` uses more stack than a thread can have.
#include "good.h"

static void before_run(void) {
  volatile char pages[64 << 20];
  for (size_t i = sizeof pages; i >= 4096; i -= 4096) pages[i - 1] = 1;
}

#define ZOO_BEFORE_RUN before_run()
#include "good_plugin.h"
