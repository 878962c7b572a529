// SPDX-License-Identifier: MIT
// Of the group products.
#include <algorithm>

#include "kernels/gemm.hpp"
#include "kernels/kernel_list.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

/// Checks the shapes of `out` = `a` times `b`, with a leading batch for `rank` 3.
Status check_product(const ModelTensor& out, const ModelTensor& a, const ModelTensor& b,
                     std::int32_t rank) {
  if (out.rank != rank || a.rank != rank || b.rank != rank) {
    return error(Error::InvalidArgument, "operands ", shape_text(a.shape()), " and ",
                 shape_text(b.shape()), " with result ", shape_text(out.shape()), ": expected ",
                 rank, " dimensions of each");
  }
  if (a.scalar_type != b.scalar_type || a.scalar_type != out.scalar_type) {
    return error(Error::InvalidType, "operands of ", name_of(a.scalar_type), " and ",
                 name_of(b.scalar_type), " with a result of ", name_of(out.scalar_type),
                 ": expected one type");
  }
  const auto m = static_cast<std::size_t>(rank - 2);
  if (a.sizes[m + 1] != b.sizes[m]) {
    return error(Error::InvalidArgument, "operands ", shape_text(a.shape()), " and ",
                 shape_text(b.shape()), ": expected as many columns in the first as rows in the ",
                 "second, found ", a.sizes[m + 1], " and ", b.sizes[m]);
  }
  if (out.sizes[m] != a.sizes[m] || out.sizes[m + 1] != b.sizes[m + 1] ||
      (rank == 3 && (a.sizes[0] != b.sizes[0] || a.sizes[0] != out.sizes[0]))) {
    return error(Error::InvalidArgument, "operands ", shape_text(a.shape()), " and ",
                 shape_text(b.shape()), " do not make the result ", shape_text(out.shape()));
  }
  return ok();
}

Status multiply_all(const ModelTensor& out, const ModelTensor& a, const ModelTensor& b, double beta,
                    double alpha) {
  const std::int64_t batches = out.rank == 3 ? out.sizes[0] : 1;
  const bool fixed = b.storage->is_fixed;
  // Products of one matrix B with many adjacent matrices are one product.
  if (out.rank == 3 && b.strides[0] == 0 && a.strides[0] == a.sizes[1] * a.strides[1] &&
      out.strides[0] == out.sizes[1] * out.strides[1]) {
    MatrixView left = matrix_of(a, 0);
    MatrixView result = matrix_of(out, 0);
    left.rows *= batches;
    result.rows *= batches;
    return multiply({.type = out.scalar_type,
                     .a = left,
                     .b = matrix_of(b, 0),
                     .c = result,
                     .alpha = alpha,
                     .beta = beta,
                     .is_b_fixed = fixed});
  }
  for (std::int64_t i = 0; i < batches; ++i) {
    // One matrix alone: each matrix of a batch would have a primitive of its own.
    TENON_RETURN_IF_ERROR(multiply({.type = out.scalar_type,
                                    .a = matrix_of(a, i),
                                    .b = matrix_of(b, i),
                                    .c = matrix_of(out, i),
                                    .alpha = alpha,
                                    .beta = beta,
                                    .is_b_fixed = fixed && batches == 1}));
  }
  return ok();
}

/// out = beta * self + alpha * a b. beta * self is written to `out` first.
Status add_product(const ModelTensor& out, const ModelTensor& self, const ModelTensor& a,
                   const ModelTensor& b, double beta, double alpha, std::int32_t rank) {
  TENON_RETURN_IF_ERROR(check_product(out, a, b, rank));
  if (beta != 0) {
    Dims strides{};
    if (!broadcast_strides(self, out.shape(), strides)) {
      return error(Error::InvalidArgument, "a summand ", shape_text(self.shape()),
                   ": expected a shape that broadcasts to ", shape_text(out.shape()));
    }
    if (self.scalar_type != out.scalar_type) {
      return error(Error::InvalidType, "a summand of ", name_of(self.scalar_type),
                   ": expected the type of the result, ", name_of(out.scalar_type));
    }
    const bool same = self.data == out.data &&
                      std::equal(strides.begin(), strides.begin() + rank, out.strides.begin());
    if (!same) {
      copy_strided(out.shape(), size_of(out.scalar_type), {out.data, out.strides.data()},
                   {self.data, strides.data()});
    }
  }
  return multiply_all(out, a, b, beta, alpha);
}

/// One matrix of a batch.
[[nodiscard]] ModelTensor matrix_at(const ModelTensor& batch, std::int64_t index) noexcept {
  ModelTensor out = batch;
  out.data += index * batch.strides[0] * static_cast<std::int64_t>(size_of(batch.scalar_type));
  out.rank = 2;
  out.numel = batch.sizes[1] * batch.sizes[2];
  for (std::size_t d = 0; d < 2; ++d) {
    out.sizes[d] = batch.sizes[d + 1];
    out.strides[d] = batch.strides[d + 1];
  }
  return out;
}

/// beta * self plus alpha times the sum of all products of two batches of matrices.
Status add_products(const ModelTensor& self, const ModelTensor& a, const ModelTensor& b,
                    double beta, double alpha, ModelTensor** ret0) {
  if (a.rank != 3 || b.rank != 3 || a.sizes[0] != b.sizes[0] || a.sizes[2] != b.sizes[1]) {
    return error(Error::InvalidArgument, "batches ", shape_text(a.shape()), " and ",
                 shape_text(b.shape()), ": expected [B, M, K] and [B, K, N]");
  }
  const std::int64_t shape[] = {a.sizes[1], b.sizes[2]};
  TENON_TRY(OwnedTensor out, new_tensor(shape, nullptr, a.scalar_type));
  ModelTensor left = matrix_at(a, 0);
  ModelTensor right = matrix_at(b, 0);
  if (a.sizes[0] == 0) {
    // No product is a product without columns of the first and rows of the second.
    left.numel = right.numel = left.sizes[1] = right.sizes[0] = 0;
  }
  TENON_RETURN_IF_ERROR(add_product(*out, self, left, right, beta, alpha, 2));
  for (std::int64_t i = 1; i < a.sizes[0]; ++i) {
    TENON_RETURN_IF_ERROR(add_product(*out, *out, matrix_at(a, i), matrix_at(b, i), 1, alpha, 2));
  }
  *ret0 = out.take();
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu_addbmm(ModelTensor* self, ModelTensor* batch1, ModelTensor* batch2,
                                double beta, double alpha, ModelTensor** ret0) noexcept {
  return shim_call("addbmm",
                   [&] { return add_products(*self, *batch1, *batch2, beta, alpha, ret0); });
}

ShimError aoti_torch_cpu_mm_out(ModelTensor* out, ModelTensor* self, ModelTensor* mat2) noexcept {
  return shim_call("mm_out", [&]() -> Status {
    TENON_RETURN_IF_ERROR(check_product(*out, *self, *mat2, 2));
    return multiply_all(*out, *self, *mat2, 0, 1);
  });
}

ShimError aoti_torch_cpu_bmm_out(ModelTensor* out, ModelTensor* self, ModelTensor* mat2) noexcept {
  return shim_call("bmm_out", [&]() -> Status {
    TENON_RETURN_IF_ERROR(check_product(*out, *self, *mat2, 3));
    return multiply_all(*out, *self, *mat2, 0, 1);
  });
}

ShimError aoti_torch_cpu_addmm_out(ModelTensor* out, ModelTensor* self, ModelTensor* mat1,
                                   ModelTensor* mat2, double beta, double alpha) noexcept {
  return shim_call("addmm_out",
                   [&] { return add_product(*out, *self, *mat1, *mat2, beta, alpha, 2); });
}

ShimError aoti_torch_cpu_baddbmm_out(ModelTensor* out, ModelTensor* self, ModelTensor* batch1,
                                     ModelTensor* batch2, double beta, double alpha) noexcept {
  return shim_call("baddbmm_out",
                   [&] { return add_product(*out, *self, *batch1, *batch2, beta, alpha, 3); });
}

}  // namespace tenon::cpu_aoti
