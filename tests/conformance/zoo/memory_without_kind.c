// SPDX-License-Identifier: MIT
// Breaks TN-MEM-1 at level 5: it reports memory whose kind is NULL.
#define ZOO_MEMORY_KIND NULL
#include "good_plugin.h"
