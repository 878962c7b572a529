// SPDX-License-Identifier: MIT
// Breaks nothing: its delegates take a few bytes, and it states those.
#define STATED 24
#include "estimate.h"
#include "good_plugin.h"
