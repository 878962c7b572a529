// SPDX-License-Identifier: MIT
#include <memory>

#include "gpu.hpp"
#include "large_product.hpp"

namespace gpu_test {
namespace {

/// Of `test_library_products`.
const kernels::CublasLtHandle* current = nullptr;

tenon::Status run_current(const kernels::MatmulPlan& plan, const tenon::aoti::ModelTensor& out) {
  return run_by_library(*current, plan, out);
}

}  // namespace

tenon::Status run_by_library(const kernels::CublasLtHandle& handle, const kernels::MatmulPlan& plan,
                             const tenon::aoti::ModelTensor& out) {
  const auto& a = plan.arguments;
  TENON_TRY(const auto product,
            kernels::LargeProduct::create(
                handle, {plan.rows, plan.columns, a.weights.depth, a.self_row_stride}));
  const Memory weight(product.weight_bytes());
  const Memory workspace(product.workspace_bytes());
  const auto at = [](const Memory& memory) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory.address()));
  };
  tenon::Status status =
      product.run(handle, plan, out, at(weight), at(workspace), gpu().stream(), gpu().launcher());
  gpu().synchronize();
  return status;
}

void test_library_products() {
  const auto path = gpu().cublaslt();
  if (!path) return not_available("cuBLASLt needs a device");
  const auto library = kernels::load_cublaslt(*path);
  if (!library.ok()) return not_available(std::string(library.text()));
  const auto handle = kernels::CublasLtHandle::create(*library);
  if (!handle.ok()) return fail(std::string(handle.text()));
  current = &**handle;
  test_aligned_products(&run_current);
}

}  // namespace gpu_test
