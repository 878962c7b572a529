// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/static_plugin.h"

/// FirstKernels, SecondKernels and AbsentKernels of test_kernels.cpp, in that order.
TENON_DECLARE_STATIC_PLUGIN(FirstKernels);
