// SPDX-License-Identifier: MIT
// One of several plugins for one id: has the same precedence as variant_base.
#define ZOO_ID "VariantBackend"
#include "zoo_plugin.h"
