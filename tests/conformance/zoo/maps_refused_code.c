// SPDX-License-Identifier: MIT
// Breaks TN-COD-3: the answer to the question for code is not heeded.
#define ZOO_ASK(context) (ask_for_code((context), (context)->processed->nbytes), TENON_STATUS_OK)
#include "code.h"

#include "good_plugin.h"
