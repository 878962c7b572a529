// SPDX-License-Identifier: MIT
#define ZOO_TABLES {NULL}
#include "zoo_plugin.h"
