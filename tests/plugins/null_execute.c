// SPDX-License-Identifier: MIT
#define ZOO_EXECUTE NULL
#include "zoo_plugin.h"
