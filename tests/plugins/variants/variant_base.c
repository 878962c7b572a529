// SPDX-License-Identifier: MIT
// One of several plugins for one id: runs on any CPU.
#define ZOO_ID "VariantBackend"
#include "zoo_plugin.h"
