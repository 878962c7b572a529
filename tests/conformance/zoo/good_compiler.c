// SPDX-License-Identifier: MIT
// Breaks nothing: a backend with an ahead-of-time half.
#include "good_compiler.h"

#include "good_plugin.h"
