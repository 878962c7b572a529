// SPDX-License-Identifier: MIT
// Breaks TN-EXM-3 at level 5: released memory stays mapped.
// Only on Linux.
#include "external.h"

static void release(tenon_backend* backend, tenon_imported_memory* memory) {
  (void)backend;
  free(memory);
}

#undef ZOO_RELEASE
#define ZOO_RELEASE release
#include "good_plugin.h"
