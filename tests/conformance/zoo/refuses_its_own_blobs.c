// SPDX-License-Identifier: MIT
// Breaks TN-AOT-3 at level 5: it compiles to a version of its blob that `init` refuses.
#define ZOO_COMPILED_VERSION 2
#include "good_compiler.h"

#include "good_plugin.h"
