// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "driver/device.hpp"
#include "kernels/large_product.hpp"
#include "tenon/backend/host_services.hpp"
#include "tenon/core/bytes.hpp"

namespace tenon::cuda_aoti {

/// A handle of cuBLASLt on a device, from the library in the file `path`; if that is empty, from
/// where the system's loader finds one. It holds the device.
/// errors: as `kernels::load_cublaslt` and cublasLtCreate.
/// threads: any
[[nodiscard]] Result<std::shared_ptr<const kernels::CublasLtHandle>> open_cublaslt(
    std::shared_ptr<CudaDevice> device, std::string_view path);

/// The handles that a backend has opened.
///
/// Threads: any.
class ProductLibraries {
 public:
  using Handle = std::shared_ptr<const kernels::CublasLtHandle>;

  /// cuBLASLt for the large products of a model's library, as the option `cublaslt` says; null when
  /// the plugin's own kernels compute them. A file that the caller names must be usable. If the
  /// system's file is not usable, `host` logs that once.
  /// errors: InvalidArgument for an empty setting; the errors of reading the library, and of
  /// `open_cublaslt` for a file.
  [[nodiscard]] Result<Handle> find(Bytes library, const std::string& setting,
                                    const std::shared_ptr<CudaDevice>& device,
                                    const HostServices& host);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::int32_t, std::string>, Handle> handles_;  ///< By device and option.
  bool is_failure_logged_ = false;
};

/// Enqueues a product whose arguments have been checked on the pool's stream: a large one by
/// cuBLASLt, if the pool's device has a handle and there is an algorithm, others by this plugin's
/// kernels. Memory is the pool's, so that a run of the same shapes allocates nothing.
[[nodiscard]] Status run_product(const kernels::MatmulPlan& plan, const aoti::ModelTensor& out,
                                 aoti::TensorPool& pool, const kernels::Launcher& launcher);

}  // namespace tenon::cuda_aoti
