// SPDX-License-Identifier: MIT
// Breaks TN-PRC-5: `execute` truncates the files by which the process reports to the runner.
#include "good.h"
#include "memory_files.h"

static void empty(int descriptor) {
  if (ftruncate(descriptor, 0) != 0) return;  // One of them is sealed.
}

#define ZOO_BEFORE_RUN for_each_memory_file(&empty)
#include "good_plugin.h"
