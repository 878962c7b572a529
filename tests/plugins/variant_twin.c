// SPDX-License-Identifier: MIT
// One of several plugins for one id: claims it with the same right as variant_base.
#define ZOO_ID "VariantBackend"
#include "zoo_plugin.h"
