// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "driver/device.hpp"
#include "kernels/large_product.hpp"

namespace tenon::cuda_aoti {

/// A handle of cuBLASLt on a device, from the library in the file `path`; if that is empty, from
/// where the system's loader finds one. It holds the device.
/// errors: those of `kernels::load_cublaslt` and cublasLtCreate.
/// threads: any
[[nodiscard]] Result<std::shared_ptr<const kernels::CublasLtHandle>> open_cublaslt(
    std::shared_ptr<CudaDevice> device, std::string_view path);

/// Enqueues a product whose arguments have been checked on the pool's stream: a large one by
/// cuBLASLt, if the pool's device has a handle and there is an algorithm, others by this plugin's
/// kernels. Memory is the pool's, so that a run of the same shapes allocates nothing.
[[nodiscard]] Status run_product(const kernels::MatmulPlan& plan, const aoti::ModelTensor& out,
                                 aoti::TensorPool& pool, const kernels::Launcher& launcher);

}  // namespace tenon::cuda_aoti
