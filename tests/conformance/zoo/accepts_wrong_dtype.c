// SPDX-License-Identifier: MIT
// Breaks TN-EXE-5: whatever has four bytes or more is taken for float32.
#define ZOO_IS_FLOAT(tensor) ((tensor)->dl.dtype.bits >= 32)
#include "good_plugin.h"
