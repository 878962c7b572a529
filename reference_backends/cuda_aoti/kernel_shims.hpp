// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "kernels/kernels.hpp"
#include "tenon/aoti/call.hpp"
#include "tenon/aoti/model_requirements.hpp"
#include "tenon/aoti/shim_table.hpp"

namespace tenon::cuda_aoti {

using aoti::ShimError;
using aoti::Tensor;

#pragma GCC visibility push(hidden)
TENON_CUDA_KERNEL_SHIMS(TENON_AOTI_DECLARE)
#pragma GCC visibility pop

/// The functions for models that run kernels of this plugin; none when it was built without them,
/// so that a model that wants one is refused when it is loaded.
[[nodiscard]] std::span<const aoti::Shim> kernel_shims();

}  // namespace tenon::cuda_aoti
