// SPDX-License-Identifier: MIT
// No pragma: gcc warns of one in what it compiles by itself.
#ifndef TENON_CPU_AOTI_PRECOMPILED_KERNELS_HPP
#define TENON_CPU_AOTI_PRECOMPILED_KERNELS_HPP

// Compiled once for all kernels, which begin with it: more than half of what the compiler does for
// a small one. A kernel includes what it uses all the same: with -Db_pch=false this header is not
// read.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

#endif
