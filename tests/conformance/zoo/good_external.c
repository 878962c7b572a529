// SPDX-License-Identifier: MIT
// Breaks nothing: it imports files in memory, and knows fences.
#include "external.h"
#include "good_plugin.h"
