// SPDX-License-Identifier: MIT
// Breaks TN-COD-3 at level 4: it maps the code although the host refused permission.
#define ZOO_ASK(context) (ask_for_code((context), (context)->processed->nbytes), TENON_STATUS_OK)
#include "code.h"

#include "good_plugin.h"
