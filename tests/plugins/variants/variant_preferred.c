// SPDX-License-Identifier: MIT
// One of several plugins for one id: its author puts it above the others.
#define ZOO_ID "VariantBackend"
#define ZOO_PRIORITY 5
#include "zoo_plugin.h"
