// SPDX-License-Identifier: MIT
#include "large_product.hpp"

#include <algorithm>
#include <utility>

#include "checks.hpp"

namespace tenon::cuda_aoti::kernels {
namespace {

// A tile unpacks its part of the weight again for each 64 rows, so from some number of rows on it
// is cheaper to unpack the weight once, which writes and reads 2 bytes for each. On an H100 tiles
// take 1.2 to 1.4 times as much for 255, and 0.6 to 0.7 of it for 128 (docs/measurements/h100.md).
constexpr std::int64_t least_rows = 192;
constexpr std::int64_t least_work = std::int64_t{1} << 30;

/// Creates a descriptor with `create`, a cublasStatus_t(T*).
template <class Owned, class Create>
Status make(const CublasLt& library, std::string_view call, Owned& to, Create create) {
  typename Owned::pointer made = nullptr;
  TENON_RETURN_IF_ERROR(library.check(call, create(&made)));
  to.reset(made);
  return ok();
}

}  // namespace

Result<std::unique_ptr<CublasLtHandle>> CublasLtHandle::create(const CublasLt& library) {
  cublasLtHandle_t handle = nullptr;
  TENON_RETURN_IF_ERROR(TENON_CUBLASLT(library, cublasLtCreate, &handle));
  return std::make_unique<CublasLtHandle>(library, handle);
}

std::optional<ProductShape> large_product(const MatmulPlan& plan) noexcept {
  const MatmulArguments& a = plan.arguments;
  const ProductShape shape{plan.rows, plan.columns, a.weights.depth, a.self_row_stride};
  // Columns and depth are below 2^31 each; rows are divided by, so that nothing overflows.
  if (shape.rows < least_rows || shape.columns == 0 ||
      shape.columns * shape.depth < ceil_div(least_work, shape.rows)) {
    return std::nullopt;
  }
  if (a.self_vector_loads == 0 || shape.stride < shape.depth) return std::nullopt;
  return shape;
}

Result<LargeProduct> LargeProduct::create(const CublasLtHandle& handle, const ProductShape& shape) {
  LargeProduct out(handle.library(), shape);
  TENON_RETURN_IF_ERROR(out.describe(handle.library()));
  TENON_RETURN_IF_ERROR(out.choose(handle));
  return out;
}

/// Its matrices are stored by columns, so that ours are theirs transposed: out^T = weight @ self^T,
/// with the weight, which is [depth, columns] there, as the operand to transpose.
Status LargeProduct::describe(const CublasLt& library) {
  TENON_RETURN_IF_ERROR(make(library, "cublasLtMatmulDescCreate", operation_, [&](auto* made) {
    return library.cublasLtMatmulDescCreate(made, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  }));
  TENON_RETURN_IF_ERROR(TENON_CUBLASLT(library, cublasLtMatmulDescSetAttribute, operation_.get(),
                                       CUBLASLT_MATMUL_DESC_TRANSA, &CUBLAS_OP_T,
                                       sizeof CUBLAS_OP_T));
  const auto layout = [&](Owned<cublasLtMatrixLayout_t>& to, std::int64_t rows,
                          std::int64_t columns, std::int64_t stride) {
    return make(library, "cublasLtMatrixLayoutCreate", to, [&](auto* made) {
      return library.cublasLtMatrixLayoutCreate(made, CUDA_R_16BF, static_cast<std::uint64_t>(rows),
                                                static_cast<std::uint64_t>(columns), stride);
    });
  };
  TENON_RETURN_IF_ERROR(layout(weight_, shape_.depth, shape_.columns, shape_.depth));
  TENON_RETURN_IF_ERROR(layout(self_, shape_.depth, shape_.rows, shape_.stride));
  return layout(out_, shape_.columns, shape_.rows, shape_.columns);
}

Status LargeProduct::choose(const CublasLtHandle& handle) {
  const CublasLt& library = handle.library();
  Owned<cublasLtMatmulPreference_t> preference(nullptr, library.cublasLtMatmulPreferenceDestroy);
  TENON_RETURN_IF_ERROR(
      make(library, "cublasLtMatmulPreferenceCreate", preference,
           [&](auto* made) { return library.cublasLtMatmulPreferenceCreate(made); }));
  const auto set = [&](int attribute, const auto& value) {
    return TENON_CUBLASLT(library, cublasLtMatmulPreferenceSetAttribute, preference.get(),
                          attribute, &value, sizeof value);
  };
  // Parts of a sum are not rounded to bfloat16 in between.
  const std::uint32_t alignment = 16;
  TENON_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, max_workspace));
  TENON_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  TENON_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment));
  int found = 0;
  TENON_RETURN_IF_ERROR(TENON_CUBLASLT(library, cublasLtMatmulAlgoGetHeuristic, handle.get(),
                                       operation_.get(), weight_.get(), self_.get(), out_.get(),
                                       out_.get(), preference.get(), 1, &chosen_, &found));
  if (found == 0) {
    return error(Error::NotSupported, "cublasLtMatmulAlgoGetHeuristic: there is no algorithm");
  }
  return library.check("cublasLtMatmulAlgoGetHeuristic", chosen_.state);
}

Status LargeProduct::run(const CublasLtHandle& handle, const MatmulPlan& plan,
                         const ModelTensor& out, void* weight, void* workspace, void* stream,
                         const Launcher& launcher) const {
  TENON_RETURN_IF_ERROR(unpack_weight(plan, weight, launcher));
  const float one = 1.0f;
  const float zero = 0.0f;
  return TENON_CUBLASLT(handle.library(), cublasLtMatmul, handle.get(), operation_.get(), &one,
                        weight, weight_.get(), plan.arguments.self, self_.get(), &zero, out.data,
                        out_.get(), out.data, out_.get(), &chosen_.algo, workspace,
                        chosen_.workspaceSize, stream);
}

Result<const LargeProduct*> LargeProducts::find(const CublasLtHandle& handle,
                                                const ProductShape& shape) {
  const auto result = [](const Entry& entry) {
    return entry.product ? &*entry.product : static_cast<const LargeProduct*>(nullptr);
  };
  const auto known = std::ranges::find(entries_, shape, &Entry::shape);
  if (known != entries_.end()) return result(*known);
  Result<LargeProduct> made = LargeProduct::create(handle, shape);
  if (!made.ok() && made.error() != Error::NotSupported) return error(made.error(), made.text());
  Entry entry{shape, std::nullopt};
  if (made.ok()) entry.product.emplace(*std::move(made));
  if (entries_.size() < most) return result(entries_.emplace_back(std::move(entry)));
  Entry& replaced = entries_[next_++ % most];
  replaced = std::move(entry);
  return result(replaced);
}

}  // namespace tenon::cuda_aoti::kernels
