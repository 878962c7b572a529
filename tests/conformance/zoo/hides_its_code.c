// SPDX-License-Identifier: MIT
// Breaks TN-COD-1: it asks for code, and its record does not say that it will.
#define ZOO_FLAGS 0
#include "code.h"

#include "good_plugin.h"
