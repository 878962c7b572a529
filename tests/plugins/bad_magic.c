// SPDX-License-Identifier: MIT
#define ZOO_MAGIC {0x89, 'T', 'E', 'N', 'O', 'N', '2', '\n'}
#include "zoo_plugin.h"
