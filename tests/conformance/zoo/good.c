// SPDX-License-Identifier: MIT
// Breaks nothing.
#include "good_plugin.h"
