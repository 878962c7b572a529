// SPDX-License-Identifier: MIT
// One of several plugins for one id: asks something of the CPU.
#define ZOO_ID "VariantBackend"
#define ZOO_CPU_FEATURES "zoo_fast"
#include "zoo_plugin.h"
