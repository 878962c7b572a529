// SPDX-License-Identifier: MIT
// Breaks TN-EXM-1 at level 5: memory of a kind that it does not list is an invalid argument.
// Only on Linux.
#define ZOO_UNKNOWN_KIND TENON_STATUS_INVALID_ARGUMENT
#include "external.h"
#include "good_plugin.h"
