// SPDX-License-Identifier: MIT
// Breaks nothing. Has what exporters of AOTInductor models read.
#include "aoti.h"
#include "good_plugin.h"
