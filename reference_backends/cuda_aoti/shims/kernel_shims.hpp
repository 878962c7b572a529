// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "kernels/kernels.hpp"
#include "tenon/aoti/library/model_requirements.hpp"
#include "tenon/aoti/shims/call.hpp"
#include "tenon/aoti/shims/shim_table.hpp"

namespace tenon::cuda_aoti {

using aoti::ModelTensor;
using aoti::ShimError;

#pragma GCC visibility push(hidden)
TENON_CUDA_KERNEL_SHIMS(TENON_AOTI_DECLARE)
#pragma GCC visibility pop

/// The shims that run kernels of this plugin; empty when it was built without kernels, so that a
/// model that needs one is refused when it is loaded.
[[nodiscard]] std::span<const aoti::Shim> kernel_shims();

}  // namespace tenon::cuda_aoti
