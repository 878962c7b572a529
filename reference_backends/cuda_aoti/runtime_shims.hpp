// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "tenon/aoti/model_requirements.hpp"

namespace tenon::cuda_aoti {

/// The functions of the CUDA runtime that models call (torch/csrc/inductor/aoti_runtime), made of
/// those of the driver: the same context, the same handles and, since CUDA 10.1, the same numbers
/// of errors. So a machine needs the driver alone, and the copies of weights that a model makes
/// while it loads can be left out. Beside them the functions of the driver itself that models call,
/// so that their failures, too, come with the function's name.
[[nodiscard]] std::span<const aoti::Shim> runtime_shims();

}  // namespace tenon::cuda_aoti
