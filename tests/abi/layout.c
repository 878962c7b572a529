// SPDX-License-Identifier: MIT
#ifdef LAYOUT_OF_FROZEN
#include "layout_1_0.h"
#else
#include "layout_1_1.h"
#endif
