// SPDX-License-Identifier: MIT
// A plugin of the zoo. The build defines what it does wrong.
#include "zoo_plugin.h"
