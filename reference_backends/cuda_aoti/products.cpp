// SPDX-License-Identifier: MIT
#include "products.hpp"

#include <utility>

#include "shims/made_tensor.hpp"
#include "verdict.hpp"

namespace tenon::cuda_aoti {
namespace {

/// Alignment of working memory, as cuBLASLt expects an allocation's.
constexpr std::uintptr_t alignment = 256;

bool is_aligned(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

/// The product for a plan, or null when this plugin's kernels are to compute it.
Result<const kernels::LargeProduct*> find_product(const kernels::MatmulPlan& plan,
                                                  const aoti::ModelTensor& out,
                                                  aoti::TensorPool& pool) {
  const auto* const handle = model_context(pool.memory()).cublaslt.get();
  if (!handle || !is_aligned(out.data)) return nullptr;
  const auto shape = kernels::large_product(plan);
  if (!shape) return nullptr;
  return pool.cache<kernels::LargeProducts>().find(*handle, *shape);
}

/// By this plugin's kernels: in parts of the depth, where that gives more multiprocessors work.
Status run_own(const kernels::MatmulPlan& plan, const aoti::ModelTensor& out,
               aoti::TensorPool& pool, const kernels::Launcher& launcher) {
  const std::int64_t parts =
      kernels::num_parts(plan, model_context(pool.memory()).device->tiles_at_once());
  if (parts == 1) return kernels::run(plan, out, launcher);
  const std::int64_t size[] = {static_cast<std::int64_t>(kernels::partial_bytes(plan, parts))};
  // Released at once: its next use is later on the same stream.
  const MadeTensor partial(pool, size, nullptr, ScalarType::Byte);
  TENON_RETURN_IF_ERROR(partial.status());
  if (!is_aligned(partial.data())) return kernels::run(plan, out, launcher);
  return kernels::run_in_parts(plan, out, parts, partial.data(), launcher);
}

}  // namespace

Result<std::shared_ptr<const kernels::CublasLtHandle>> open_cublaslt(
    std::shared_ptr<CudaDevice> device, std::string_view path) {
  TENON_TRY(const kernels::CublasLt library, kernels::load_cublaslt(path));
  const ContextScope scope(*device);
  TENON_RETURN_IF_ERROR(scope.status());
  TENON_TRY(auto handle, kernels::CublasLtHandle::create(library));
  const auto destroy = [held = std::move(device)](const kernels::CublasLtHandle* which) {
    const ContextScope current(*held);
    delete which;
  };
  return std::shared_ptr<const kernels::CublasLtHandle>(handle.release(), destroy);
}

Result<ProductLibraries::Handle> ProductLibraries::find(Bytes library, const std::string& setting,
                                                        const std::shared_ptr<CudaDevice>& device,
                                                        const HostServices& host) {
  if (setting == "off") return Handle();
  if (setting.empty()) {
    return error(Error::InvalidArgument,
                 "option 'cublaslt': expected 'auto', 'off' or a file, found ''");
  }
  TENON_TRY(const bool is_needed, needs_products(library));
  if (!is_needed) return Handle();
  const bool is_file = setting != "auto";
  Status failure = ok();
  {
    const std::lock_guard lock(mutex_);
    Handle& known = handles_[{device->index(), setting}];
    if (known) return known;
    auto opened = open_cublaslt(device, is_file ? setting : "");
    if (opened.ok()) return known = *std::move(opened);
    failure = error(opened.error(), opened.text());
    if (is_file) return std::move(failure).with_context("option 'cublaslt'");
    if (failure.error() == Error::NotFound || is_failure_logged_) return Handle();
    is_failure_logged_ = true;
  }
  host.log(LogLevel::Info, "large products run without cuBLASLt: ", failure.text());
  return Handle();
}

Status run_product(const kernels::MatmulPlan& plan, const aoti::ModelTensor& out,
                   aoti::TensorPool& pool, const kernels::Launcher& launcher) {
  TENON_TRY(const kernels::LargeProduct* const product, find_product(plan, out, pool));
  if (!product) return run_own(plan, out, pool, launcher);
  const std::int64_t weight_size[] = {static_cast<std::int64_t>(product->weight_bytes())};
  const std::int64_t workspace_size[] = {static_cast<std::int64_t>(product->workspace_bytes())};
  const MadeTensor weight(pool, weight_size, nullptr, ScalarType::Byte);
  TENON_RETURN_IF_ERROR(weight.status());
  const MadeTensor workspace(pool, workspace_size, nullptr, ScalarType::Byte);
  TENON_RETURN_IF_ERROR(workspace.status());
  if (!is_aligned(weight.data()) || !is_aligned(workspace.data())) {
    return run_own(plan, out, pool, launcher);
  }
  return product->run(*model_context(pool.memory()).cublaslt, plan, out, weight.data(),
                      workspace.data(), pool.stream(), launcher);
}

}  // namespace tenon::cuda_aoti
