// SPDX-License-Identifier: MIT
// Breaks TN-BIN-2 in the loudest way: a process that loads it ends.
#include <stdlib.h>

#include "zoo_plugin.h"

__attribute__((constructor)) static void end_the_process(void) { abort(); }
