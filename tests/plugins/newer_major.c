// SPDX-License-Identifier: MIT
#define ZOO_ABI_MAJOR 2
#define ZOO_ABI_MINOR 3
#include "zoo_plugin.h"
