// SPDX-License-Identifier: MIT
// A backend that lists leave out by default.
#define ZOO_ID "DebugBackend"
#define ZOO_TAGS "debug, cpu"
#include "zoo_plugin.h"
