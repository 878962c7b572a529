// SPDX-License-Identifier: MIT
// Breaks nothing: its option has a smallest and a largest value.
#include "option_limits.h"

#include "good_plugin.h"
