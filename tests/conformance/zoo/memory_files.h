// SPDX-License-Identifier: MIT
#pragma once

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/// Calls `use` with each descriptor that leads to a file in memory: those by which a test's process
/// reports to the runner of the kit.
static void for_each_memory_file(void (*use)(int descriptor)) {
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    char link[64], target[256];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0) continue;
    target[length] = '\0';
    if (strstr(target, "memfd:") != NULL) use(descriptor);
  }
}
