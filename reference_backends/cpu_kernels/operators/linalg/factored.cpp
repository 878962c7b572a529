// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "kernels/kernel_list.hpp"
#include "operators/linalg/lapack.hpp"
#include "operators/linalg/matrices.hpp"
#include "tenon/core/tensor.hpp"

// What is computed from matrices that are factored already: functions of PyTorch's C shim (ATen:
// aten/src/ATen/native/BatchLinearAlgebra.cpp). Results have columns one after the other, as there.
namespace tenon::cpu_aoti {
namespace {

using namespace matrices;
using aoti::shim_call;

/// Square matrices and right sides, broadcast to the batch of `solved`.
struct Systems {
  Matrices solved;
  OwnedTensor matrices{nullptr};
  OwnedTensor solutions{nullptr};  ///< The right sides at first.
};

Result<Systems> systems_of(const ModelTensor& matrix, const ModelTensor& right) {
  TENON_TRY(const Matrices all, matrices_of(matrix, true));
  const std::optional<Matrices> solved = solutions_of(all, right, false, true);
  if (!solved || right.scalar_type != matrix.scalar_type) {
    return error(Error::InvalidArgument, "matrices ", shape_text(matrix.shape()), " of ",
                 name_of(matrix.scalar_type), " and right sides ", shape_text(right.shape()),
                 " of ", name_of(right.scalar_type), ": expected one type, right sides with ",
                 all.rows, " rows, and batches that broadcast");
  }
  Systems out;
  out.solved = *solved;
  const ScalarType type = matrix.scalar_type;
  TENON_TRY(out.matrices, new_matrices(*solved, all.rows, all.rows, type));
  TENON_TRY(out.solutions, new_matrices(*solved, all.rows, solved->columns, type));
  copy(matrix, *out.matrices);
  copy(right, *out.solutions);
  return out;
}

Status cholesky_solve(const ModelTensor& right, const ModelTensor& factor, bool upper,
                      ModelTensor** ret0) {
  return with_lapack_type(factor.scalar_type, [&]<class T>(T) -> Status {
    TENON_TRY(Systems systems, systems_of(factor, right));
    const std::int64_t n = systems.solved.rows, k = systems.solved.columns;
    const int size = as_int(n), columns = as_int(k), lda = leading(n);
    TENON_RETURN_IF_ERROR(for_each(systems.solved, [&](std::int64_t i) {
      int info = 0;
      if (n != 0 && k != 0) {
        lapack::routines<T>().potrs(upper ? "U" : "L", &size, &columns,
                                    at<T>(systems.matrices, i, n * n), &lda,
                                    at<T>(systems.solutions, i, n * k), &lda, &info, 1);
      }
      return ok();
    }));
    *ret0 = systems.solutions.take();
    return ok();
  });
}

Status cholesky_inverse(const ModelTensor& factor, bool upper, ModelTensor** ret0) {
  TENON_TRY(const Matrices all, matrices_of(factor, true));
  return with_lapack_type(factor.scalar_type, [&]<class T>(T) -> Status {
    const std::int64_t n = all.rows;
    TENON_TRY(OwnedTensor inverse, new_matrices(all, n, n, factor.scalar_type));
    copy(factor, *inverse);
    const int size = as_int(n), lda = leading(n);
    TENON_RETURN_IF_ERROR(for_each(all, [&](std::int64_t i) -> Status {
      T* const matrix = at<T>(inverse, i, n * n);
      int info = 0;
      if (n != 0) lapack::routines<T>().potri(upper ? "U" : "L", &size, matrix, &lda, &info, 1);
      if (info != 0) {
        return error(Error::InvalidArgument, "matrix ", i, ": number ", info,
                     " of the diagonal is zero: expected a factor of Cholesky's");
      }
      // LAPACK writes one triangle of what is symmetric.
      for (std::int64_t c = 0; c < n; ++c) {
        for (std::int64_t r = c + 1; r < n; ++r) {
          T& below = matrix[c * n + r];
          T& above = matrix[r * n + c];
          (upper ? below : above) = upper ? above : below;
        }
      }
      return ok();
    }));
    *ret0 = inverse.take();
    return ok();
  });
}

struct Triangle {
  bool upper, transpose, unitriangular;
};

Status triangular_solve(const ModelTensor& right, const ModelTensor& matrix, Triangle kind,
                        ModelTensor** ret0, ModelTensor** ret1) {
  return with_lapack_type(matrix.scalar_type, [&]<class T>(T) -> Status {
    TENON_TRY(Systems systems, systems_of(matrix, right));
    const std::int64_t n = systems.solved.rows, k = systems.solved.columns;
    const int size = as_int(n), columns = as_int(k), lda = leading(n);
    const T one{1};
    TENON_RETURN_IF_ERROR(for_each(systems.solved, [&](std::int64_t i) {
      if (n == 0 || k == 0) return ok();
      lapack::routines<T>().trsm("L", kind.upper ? "U" : "L", kind.transpose ? "T" : "N",
                                 kind.unitriangular ? "U" : "N", &size, &columns, &one,
                                 at<T>(systems.matrices, i, n * n), &lda,
                                 at<T>(systems.solutions, i, n * k), &lda, 1, 1, 1, 1);
      return ok();
    }));
    *ret0 = systems.solutions.take();
    *ret1 = systems.matrices.take();
    return ok();
  });
}

Status geqrf(const ModelTensor& self, ModelTensor** ret0, ModelTensor** ret1) {
  TENON_TRY(const Matrices all, matrices_of(self, false));
  return with_lapack_type(self.scalar_type, [&]<class T>(T) -> Status {
    const std::int64_t m = all.rows, n = all.columns, k = all.least();
    TENON_TRY(OwnedTensor factors, new_matrices(all, m, n, self.scalar_type));
    TENON_TRY(OwnedTensor scalars, new_lists(all, k, self.scalar_type));
    copy(self, *factors);
    TENON_RETURN_IF_ERROR(for_each(all, [&](std::int64_t i) {
      return factor_reflectors(m, n, at<T>(factors, i, m * n), at<T>(scalars, i, k));
    }));
    *ret0 = factors.take();
    *ret1 = scalars.take();
    return ok();
  });
}

/// Q, as `geqrf` factors it, times other matrices, or these times Q.
Status ormqr(const ModelTensor& self, const ModelTensor& tau, const ModelTensor& other, bool left,
             bool transpose, ModelTensor** ret0) {
  TENON_TRY(const Matrices factored, matrices_of(self, false));
  TENON_TRY(const Matrices all, matrices_of(other, false));
  const auto rank = static_cast<std::size_t>(tau.rank);
  const std::int64_t k = rank > 0 ? tau.sizes[rank - 1] : -1;
  const bool fits = rank == all.batch_rank + 1 && factored.batch_rank == all.batch_rank &&
                    std::ranges::equal(factored.batch(), all.batch()) &&
                    std::ranges::equal(tau.shape().first(rank - 1), all.batch()) &&
                    factored.rows == (left ? all.rows : all.columns) && k <= factored.least();
  if (!fits || tau.scalar_type != self.scalar_type || other.scalar_type != self.scalar_type) {
    return error(Error::InvalidArgument, "factors ", shape_text(self.shape()), " of ",
                 name_of(self.scalar_type), ", scalars ", shape_text(tau.shape()), " of ",
                 name_of(tau.scalar_type), " and matrices ", shape_text(other.shape()), " of ",
                 name_of(other.scalar_type), ": expected one type and batch, at most ",
                 factored.least(), " scalars, and factors with as many rows as the matrices have ",
                 left ? "rows" : "columns");
  }
  return with_lapack_type(self.scalar_type, [&]<class T>(T) -> Status {
    const std::int64_t m = all.rows, n = all.columns;
    const std::int64_t size = factored.rows * factored.columns;
    TENON_TRY(const OwnedTensor factors,
              new_matrices(factored, factored.rows, factored.columns, self.scalar_type));
    TENON_TRY(const OwnedTensor scalars, new_lists(all, k, self.scalar_type));
    TENON_TRY(OwnedTensor product, new_matrices(all, m, n, self.scalar_type));
    copy(self, *factors);
    copy(tau, *scalars);
    copy(other, *product);
    const int rows = as_int(m), columns = as_int(n), lda = leading(factored.rows);
    const int ldc = leading(m), reflectors = as_int(k);
    int info = 0;
    TENON_RETURN_IF_ERROR(for_each(all, [&](std::int64_t i) -> Status {
      if (k == 0 || m == 0 || n == 0) return ok();
      return with_work<T>([&](T* work, int* work_size) {
        lapack::routines<T>().ormqr(left ? "L" : "R", transpose ? "T" : "N", &rows, &columns,
                                    &reflectors, at<T>(factors, i, size), &lda,
                                    at<T>(scalars, i, k), at<T>(product, i, m * n), &ldc, work,
                                    work_size, &info, 1, 1);
      });
    }));
    *ret0 = product.take();
    return ok();
  });
}

/// Writes the permutation that LAPACK's exchanges of rows make, as a matrix. False when a row that
/// is exchanged is outside of the matrix.
template <class T>
[[nodiscard]] bool write_permutation(const int* pivots, std::int64_t count, std::int64_t rows,
                                     int* order, T* matrix) noexcept {
  for (std::int64_t r = 0; r < rows; ++r) order[r] = static_cast<int>(r);
  for (std::int64_t r = 0; r < count; ++r) {
    if (pivots[r] < 1 || pivots[r] > rows) return false;
    std::swap(order[r], order[pivots[r] - 1]);
  }
  std::fill_n(matrix, rows * rows, T{});
  for (std::int64_t r = 0; r < rows; ++r) matrix[order[r] * rows + r] = T{1};
  return true;
}

Status lu_unpack(const ModelTensor& factors, const ModelTensor& pivots, bool with_data,
                 bool with_pivots, ModelTensor** ret0, ModelTensor** ret1, ModelTensor** ret2) {
  TENON_TRY(const Matrices all, matrices_of(factors, false));
  const std::int64_t m = all.rows, n = all.columns, k = all.least();
  const auto rank = static_cast<std::size_t>(pivots.rank);
  if (with_pivots && (pivots.scalar_type != ScalarType::Int || rank != all.batch_rank + 1 ||
                      !std::ranges::equal(pivots.shape().first(rank - 1), all.batch()) ||
                      pivots.sizes[rank - 1] != k)) {
    return error(Error::InvalidArgument, "pivots ", shape_text(pivots.shape()), " of ",
                 name_of(pivots.scalar_type), " for factors ", shape_text(factors.shape()),
                 ": expected Int, the same batch, and ", k, " of each matrix");
  }
  return with_lapack_type(factors.scalar_type, [&]<class T>(T) -> Status {
    const ScalarType type = factors.scalar_type;
    const auto made = [&](bool wanted, std::int64_t rows,
                          std::int64_t columns) -> Result<OwnedTensor> {
      if (!wanted) return new_nothing(type);
      Dims sizes = all.sizes;
      sizes[all.batch_rank] = rows;
      sizes[all.batch_rank + 1] = columns;
      return new_tensor(Sizes(sizes).first(all.batch_rank + 2), nullptr, type);
    };
    TENON_TRY(OwnedTensor permutation, made(with_pivots, m, m));
    TENON_TRY(OwnedTensor lower, made(with_data, m, k));
    TENON_TRY(OwnedTensor upper, made(with_data, k, n));
    TENON_TRY(const OwnedTensor both, made(true, m, n));
    TENON_TRY(const OwnedTensor exchanges, new_lists(all, k, ScalarType::Int));
    TENON_TRY(const Scratch order, Scratch::of(m * static_cast<std::int64_t>(sizeof(int))));
    copy(factors, *both);
    if (with_pivots) copy(pivots, *exchanges);
    TENON_RETURN_IF_ERROR(for_each(all, [&](std::int64_t i) -> Status {
      const T* const from = at<T>(both, i, m * n);
      for (std::int64_t r = 0; r < m && with_data; ++r) {
        for (std::int64_t c = 0; c < k; ++c) {
          at<T>(lower, i, m * k)[r * k + c] = c < r ? from[r * n + c] : static_cast<T>(c == r);
        }
        for (std::int64_t c = 0; c < n && r < k; ++c) {
          at<T>(upper, i, k * n)[r * n + c] = c < r ? T{} : from[r * n + c];
        }
      }
      if (!with_pivots || write_permutation(at<int>(exchanges, i, k), k, m, order.as<int>(),
                                            at<T>(permutation, i, m * m))) {
        return ok();
      }
      return error(Error::InvalidArgument, "pivots of matrix ", i, ": expected rows from 1 to ", m);
    }));
    *ret0 = permutation.take();
    *ret1 = lower.take();
    *ret2 = upper.take();
    return ok();
  });
}

}  // namespace

ShimError aoti_torch_cpu_cholesky_solve(ModelTensor* self, ModelTensor* input2, std::int32_t upper,
                                        ModelTensor** ret0) noexcept {
  return shim_call("cholesky_solve",
                   [&] { return cholesky_solve(*self, *input2, upper != 0, ret0); });
}

ShimError aoti_torch_cpu_cholesky_inverse(ModelTensor* self, std::int32_t upper,
                                          ModelTensor** ret0) noexcept {
  return shim_call("cholesky_inverse", [&] { return cholesky_inverse(*self, upper != 0, ret0); });
}

ShimError aoti_torch_cpu_triangular_solve(ModelTensor* self, ModelTensor* A, std::int32_t upper,
                                          std::int32_t transpose, std::int32_t unitriangular,
                                          ModelTensor** ret0, ModelTensor** ret1) noexcept {
  return shim_call("triangular_solve", [&] {
    return triangular_solve(*self, *A, {upper != 0, transpose != 0, unitriangular != 0}, ret0,
                            ret1);
  });
}

ShimError aoti_torch_cpu_geqrf(ModelTensor* self, ModelTensor** ret0, ModelTensor** ret1) noexcept {
  return shim_call("geqrf", [&] { return geqrf(*self, ret0, ret1); });
}

ShimError aoti_torch_cpu_ormqr(ModelTensor* self, ModelTensor* input2, ModelTensor* input3,
                               std::int32_t left, std::int32_t transpose,
                               ModelTensor** ret0) noexcept {
  return shim_call("ormqr",
                   [&] { return ormqr(*self, *input2, *input3, left != 0, transpose != 0, ret0); });
}

ShimError aoti_torch_cpu_lu_unpack(ModelTensor* LU_data, ModelTensor* LU_pivots,
                                   std::int32_t unpack_data, std::int32_t unpack_pivots,
                                   ModelTensor** ret0, ModelTensor** ret1,
                                   ModelTensor** ret2) noexcept {
  return shim_call("lu_unpack", [&] {
    return lu_unpack(*LU_data, *LU_pivots, unpack_data != 0, unpack_pivots != 0, ret0, ret1, ret2);
  });
}

}  // namespace tenon::cpu_aoti
