// SPDX-License-Identifier: MIT
// Breaks nothing: a part of its runs is done on the application's threads.
#include "pool.h"
#define ZOO_EXECUTE pool_execute
#include "good_plugin.h"
