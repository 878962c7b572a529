// SPDX-License-Identifier: MIT
#define ZOO_NUM_BODY_BACKENDS 2
#include "zoo_plugin.h"
