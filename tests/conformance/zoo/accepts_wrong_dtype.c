// SPDX-License-Identifier: MIT
// Breaks TN-EXE-5 at level 4: any dtype of at least four bytes is treated as float32.
#define ZOO_IS_FLOAT(tensor) ((tensor)->dl.dtype.bits >= 32)
#include "good_plugin.h"
