// SPDX-License-Identifier: MIT
// Breaks TN-CAN-1 at level 5: a run that was cancelled fails with another number.
#define ZOO_CANCELLED TENON_STATUS_INTERNAL
#include "cancel.h"

#include "good_plugin.h"
