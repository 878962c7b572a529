// SPDX-License-Identifier: MIT
// Breaks TN-EXM-2 at level 5: a range is imported that the file does not have.
// Only on Linux.
#define ZOO_HAS_RANGE(memory) ((memory)->nbytes > 0 && (memory)->offset < (UINT64_C(1) << 40))
#include "external.h"
#include "good_plugin.h"
