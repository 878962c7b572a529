// SPDX-License-Identifier: MIT
// Breaks TN-BIN-4: the offset of its body is beyond the end of its object.
#define ZOO_BODY_OFFSET sizeof(zoo_object)
#include "good_plugin.h"
