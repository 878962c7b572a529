// SPDX-License-Identifier: MIT
// Breaks nothing: a backend with a device that has memory.
#include "device.h"

#include "good_plugin.h"
