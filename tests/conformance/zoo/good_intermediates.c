// SPDX-License-Identifier: MIT
// Breaks nothing: it gives its intermediate results.
#include "good_intermediates.h"
