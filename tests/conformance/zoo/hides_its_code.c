// SPDX-License-Identifier: MIT
// Breaks TN-COD-1 at level 4: it asks for permission for code, but its record does not declare
// that.
#define ZOO_FLAGS 0
#include "code.h"

#include "good_plugin.h"
