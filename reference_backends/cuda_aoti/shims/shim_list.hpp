// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aoti/shims/shim_table.hpp"

namespace tenon::cuda_aoti {

/// All shims of this plugin. Other functions of CUDA come from CUDA's own libraries
/// (`find_in_cuda_libraries`).
[[nodiscard]] const aoti::ShimTable& shim_table();

}  // namespace tenon::cuda_aoti
