// SPDX-License-Identifier: MIT
// Breaks TN-PRC-5: `execute` writes lines to the runner that are JSON, but of other types.
#include "good.h"
#include "memory_files.h"

static void confuse(int descriptor) {
  const char text[] =
      "\n{\"finding\":1}\n{\"measurement\":[]}\n{\"outcome\":{}}\n[[[\n!crash\n!frame\n";
  if (write(descriptor, text, sizeof text - 1) < 0) return;
}

#define ZOO_BEFORE_RUN for_each_memory_file(&confuse)
#include "good_plugin.h"
