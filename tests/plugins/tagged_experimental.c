// SPDX-License-Identifier: MIT
// A backend that lists leave out by default.
#define ZOO_ID "ExperimentalBackend"
#define ZOO_TAGS "experimental"
#include "zoo_plugin.h"
