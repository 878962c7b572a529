// SPDX-License-Identifier: MIT
#define ZOO_ABI_MINOR 7
#define ZOO_MIN_HOST_ABI_MINOR 7
#include "zoo_plugin.h"
