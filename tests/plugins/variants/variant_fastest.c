// SPDX-License-Identifier: MIT
// One of several plugins for one id: asks more of the CPU than variant_fast.
#define ZOO_ID "VariantBackend"
#define ZOO_CPU_FEATURES "zoo_fast, zoo_wide"
#include "zoo_plugin.h"
