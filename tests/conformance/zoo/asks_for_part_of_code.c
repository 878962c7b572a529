// SPDX-License-Identifier: MIT
// Breaks TN-COD-2 at level 4: it asks for permission for half of the code that it maps.
#define ZOO_ASK(context) ask_for_code((context), (context)->processed->nbytes / 2)
#include "code.h"

#include "good_plugin.h"
