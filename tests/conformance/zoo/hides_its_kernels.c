// SPDX-License-Identifier: MIT
// Breaks TN-KRN-1 at level 3: its record does not declare its kernels, so no host asks for them.
#define ZOO_FLAGS 0
#include "kernels.h"

#include "good_plugin.h"
