// SPDX-License-Identifier: MIT
// Breaks TN-COD-1 at level 4: `init` maps the blob as code without permission.
#define ZOO_ASK(context) TENON_STATUS_OK
#include "code.h"

#include "good_plugin.h"
