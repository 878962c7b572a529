// SPDX-License-Identifier: MIT
// Breaks nothing: it imports files in memory, and knows fences.
// Only on Linux.
#include "external.h"
#include "good_plugin.h"
