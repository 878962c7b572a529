// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/static_plugin.h"

/// FirstKernels, SecondKernels, AbsentKernels and Asking of test_kernels.cpp, in that order.
TENON_DECLARE_STATIC_PLUGIN(FirstKernels);
