// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aoti/shim_table.hpp"

namespace tenon::cuda_aoti {

/// All functions for models that this plugin has itself; what else a model asks of CUDA comes from
/// CUDA's own libraries (`find_in_cuda_libraries`).
[[nodiscard]] const aoti::ShimTable& shim_table();

}  // namespace tenon::cuda_aoti
