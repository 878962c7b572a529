// SPDX-License-Identifier: MIT
// Breaks TN-EXE-5 at level 4: a tensor on a device is read and written like one on the CPU.
#define ZOO_IS_DEVICE(device) ((device).device_type >= 0)
#include "good.h"

#include "good_plugin.h"
