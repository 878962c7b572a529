// SPDX-License-Identifier: MIT
// Breaks nothing: it takes hints.
#include "scheduling.h"

#include "good_plugin.h"
