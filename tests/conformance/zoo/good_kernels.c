// SPDX-License-Identifier: MIT
// Breaks nothing: a backend with delegates and kernels.
#include "kernels.h"

#include "good_plugin.h"
