// SPDX-License-Identifier: MIT
#include "layout_1_0.h"
