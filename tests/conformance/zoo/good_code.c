// SPDX-License-Identifier: MIT
// Breaks nothing: a backend that maps code of the program.
#include "code.h"

#include "good_plugin.h"
