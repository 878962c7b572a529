// SPDX-License-Identifier: MIT
// Breaks TN-AOT-3: compiles to a version of its blob that `init` does not know.
#define ZOO_COMPILED_VERSION 2
#include "good_compiler.h"

#include "good_plugin.h"
