// SPDX-License-Identifier: MIT
// Breaks nothing: a delegate may be NULL.
#include "null_delegate.h"

#include "good_plugin.h"
