// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "tenon/aoti/shims/shim_table.hpp"

namespace tenon::cuda_aoti {

/// All shims of this plugin. Other functions of CUDA come from CUDA's own libraries
/// (`find_in_cuda_libraries`).
[[nodiscard]] const aoti::ShimTable& shim_table();

/// The functions of the CUDA runtime that models call (torch/csrc/inductor/aoti_runtime),
/// implemented with the driver: the same context, the same handles and, since CUDA 10.1, the same
/// error numbers. So a machine needs only the driver, and a model's copies of its weights while it
/// loads can be omitted. Also the functions of the driver itself that models call, so that their
/// failures name the function.
[[nodiscard]] std::span<const aoti::Shim> runtime_shims();

/// Shims of the CUDA runtime that allocate, free, copy and describe memory.
[[nodiscard]] std::span<const aoti::Shim> runtime_memory_shims();

}  // namespace tenon::cuda_aoti
