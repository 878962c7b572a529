// SPDX-License-Identifier: MIT
// Made with newer headers, content with any host of this major.
#define ZOO_ABI_MINOR 7
#include "zoo_plugin.h"
