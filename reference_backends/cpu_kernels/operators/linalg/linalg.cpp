// SPDX-License-Identifier: MIT
#include "operators/linalg/linalg.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "operators/linalg/lapack.hpp"
#include "operators/linalg/matrices.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {

using namespace matrices;

Status invert(const ModelTensor& self, OperatorResults results) {
  TENON_TRY(const Matrices all, matrices_of(self, true));
  return with_lapack_type(self.scalar_type, [&]<class T>(T) -> Status {
    const std::int64_t n = all.rows;
    TENON_TRY(results[0], new_matrices(all, n, n, self.scalar_type));
    TENON_TRY(results[1], new_numbers(all, ScalarType::Int));
    TENON_TRY(const OwnedTensor triangles, new_matrices(all, n, n, self.scalar_type));
    TENON_TRY(const Scratch pivots, Scratch::of(n * static_cast<std::int64_t>(sizeof(int))));
    copy(self, *triangles);
    return for_each(all, [&](std::int64_t i) {
      T* const inverse = at<T>(results[0], i, n * n);
      set_identity(inverse, n);
      int& info = *at<int>(results[1], i, 1);
      factor_triangles(n, at<T>(triangles, i, n * n), pivots.as<int>(), info);
      solve_triangles(n, n, at<T>(triangles, i, n * n), pivots.as<int>(), inverse);
      return ok();
    });
  });
}

Status solve(const ModelTensor& self, const ModelTensor& right, bool left,
             OperatorResults results) {
  TENON_TRY(const Matrices all, matrices_of(self, true));
  const std::int64_t n = all.rows;
  // As PyTorch decides it: a vector for each matrix.
  const bool is_vector =
      right.rank == 1 ||
      (right.rank + 1 == self.rank &&
       std::ranges::equal(right.shape(), self.shape().first(all.batch_rank + 1)));
  if (is_vector && !left) {
    return error(Error::InvalidArgument, "right sides ", shape_text(right.shape()),
                 " of X A = B: expected matrices, found a vector for each matrix ",
                 shape_text(self.shape()));
  }
  const std::optional<Matrices> solved = solutions_of(all, right, is_vector, left);
  if (right.scalar_type != self.scalar_type || !solved) {
    return error(Error::InvalidArgument, "matrices ", shape_text(self.shape()), " of ",
                 name_of(self.scalar_type), " and right sides ", shape_text(right.shape()), " of ",
                 name_of(right.scalar_type), ": expected one type, right sides with ", n,
                 left ? " rows" : " columns", ", and batches that broadcast");
  }
  return with_lapack_type(self.scalar_type, [&]<class T>(T) -> Status {
    const Sizes sizes = Sizes(solved->sizes).first(solved->batch_rank + (is_vector ? 1 : 2));
    // X A = B is A^T X^T = B^T, and the columns of X^T are the rows of X.
    const std::int64_t columns = left ? solved->columns : solved->rows;
    TENON_TRY(results[0], left ? new_turned(sizes, self.scalar_type)
                               : new_tensor(sizes, nullptr, self.scalar_type));
    TENON_TRY(results[1], new_matrices(all, n, n, self.scalar_type));
    TENON_TRY(results[2], new_lists(all, n, ScalarType::Int));
    TENON_TRY(results[3], new_numbers(all, ScalarType::Int));
    // PyTorch turns a batch of vectors as if it were a matrix; LAPACK needs each in one piece.
    OwnedTensor lists(nullptr);
    if (is_vector) {
      TENON_TRY(lists, new_lists(*solved, n, self.scalar_type));
    }
    const OwnedTensor& solutions = is_vector ? lists : results[0];
    copy(right, *solutions);
    copy(self, *results[1]);
    TENON_RETURN_IF_ERROR(for_each(all, [&](std::int64_t i) {
      factor_triangles(n, at<T>(results[1], i, n * n), at<int>(results[2], i, n),
                       *at<int>(results[3], i, 1));
      return ok();
    }));
    // Numbers of matrices for the positions in the batch of solutions.
    Dims numbers{};
    static_cast<void>(broadcast_strides(*results[3], solved->batch(), numbers));
    std::int64_t next = 0;
    for_positions<1>(solved->batch(), no_dim, {numbers.data()}, [&](const auto& position) {
      const std::int64_t i = position[0];
      solve_triangles(n, columns, at<T>(results[1], i, n * n), at<int>(results[2], i, n),
                      at<T>(solutions, next++, n * columns), !left);
    });
    if (is_vector) copy(*lists, *results[0]);
    return ok();
  });
}

Status factor_cholesky(const ModelTensor& self, bool upper, OperatorResults results) {
  TENON_TRY(const Matrices all, matrices_of(self, true));
  return with_lapack_type(self.scalar_type, [&]<class T>(T) -> Status {
    const std::int64_t n = all.rows;
    TENON_TRY(results[0], new_matrices(all, n, n, self.scalar_type));
    TENON_TRY(results[1], new_numbers(all, ScalarType::Int));
    copy(self, *results[0]);
    return for_each(all, [&](std::int64_t i) {
      T* const factor = at<T>(results[0], i, n * n);
      int& info = *at<int>(results[1], i, 1);
      info = 0;
      const int size = as_int(n), lda = leading(n);
      if (n != 0) lapack::routines<T>().potrf(upper ? "U" : "L", &size, factor, &lda, &info, 1);
      clear_triangle(factor, n, n, upper);
      return ok();
    });
  });
}

Status factor_qr(const ModelTensor& self, std::string_view mode, OperatorResults results) {
  TENON_TRY(const Matrices all, matrices_of(self, false));
  const bool with_q = mode != "r";
  if (mode != "reduced" && mode != "complete" && with_q) {
    return error(Error::InvalidArgument, "mode '", mode, "': expected reduced, complete or r");
  }
  return with_lapack_type(self.scalar_type, [&]<class T>(T) -> Status {
    const std::int64_t m = all.rows, n = all.columns, k = all.least();
    const std::int64_t q_columns = mode == "complete" ? m : k;
    TENON_TRY(results[0], with_q ? new_matrices(all, m, q_columns, self.scalar_type)
                                 : new_nothing(self.scalar_type));
    TENON_TRY(results[1], new_matrices(all, q_columns, n, self.scalar_type));
    TENON_TRY(const OwnedTensor factors, new_matrices(all, m, n, self.scalar_type));
    TENON_TRY(const Scratch tau, Scratch::of(k * static_cast<std::int64_t>(sizeof(T))));
    copy(self, *factors);
    const int rows = as_int(m), lda = leading(m), q_size = as_int(q_columns);
    const int least = as_int(k);
    int info = 0;
    const auto& routines = lapack::routines<T>();
    return for_each(all, [&](std::int64_t i) -> Status {
      T* const factor = at<T>(factors, i, m * n);
      TENON_RETURN_IF_ERROR(factor_reflectors(m, n, factor, tau.as<T>()));
      T* const r = at<T>(results[1], i, q_columns * n);
      for (std::int64_t c = 0; c < n; ++c) {
        std::copy_n(factor + c * m, q_columns, r + c * q_columns);
      }
      clear_triangle(r, q_columns, n, true);
      if (!with_q || q_columns == 0) return ok();
      T* const q = at<T>(results[0], i, m * q_columns);
      std::fill_n(q, m * q_columns, T{});
      std::copy_n(factor, m * std::min(n, q_columns), q);
      return with_work<T>([&](T* work, int* size) {
        routines.orgqr(&rows, &q_size, &least, q, &lda, tau.as<T>(), work, size, &info);
      });
    });
  });
}

Status factor_svd(const ModelTensor& self, bool full, bool with_vectors, OperatorResults results) {
  TENON_TRY(const Matrices all, matrices_of(self, false));
  return with_lapack_type(self.scalar_type, [&]<class T>(T) -> Status {
    const std::int64_t m = all.rows, n = all.columns, k = all.least();
    const std::int64_t u_columns = full ? m : k, v_rows = full ? n : k;
    TENON_TRY(results[0], with_vectors ? new_matrices(all, m, u_columns, self.scalar_type)
                                       : new_nothing(self.scalar_type));
    TENON_TRY(results[1], new_lists(all, k, self.scalar_type));
    TENON_TRY(results[2], with_vectors ? new_matrices(all, v_rows, n, self.scalar_type)
                                       : new_nothing(self.scalar_type));
    TENON_TRY(const OwnedTensor copies, new_matrices(all, m, n, self.scalar_type));
    TENON_TRY(const Scratch integers, Scratch::of(8 * k * static_cast<std::int64_t>(sizeof(int))));
    copy(self, *copies);
    const int rows = as_int(m), columns = as_int(n), lda = leading(m), ldv = leading(v_rows);
    const char* const job = !with_vectors ? "N" : full ? "A" : "S";
    return for_each(all, [&](std::int64_t i) -> Status {
      T* const u = with_vectors ? at<T>(results[0], i, m * u_columns) : nullptr;
      T* const v = with_vectors ? at<T>(results[2], i, v_rows * n) : nullptr;
      if (k == 0) {
        if (u && full) set_identity(u, m);
        if (v && full) set_identity(v, n);
        return ok();
      }
      int info = 0;
      TENON_RETURN_IF_ERROR(with_work<T>([&](T* work, int* size) {
        lapack::routines<T>().gesdd(job, &rows, &columns, at<T>(copies, i, m * n), &lda,
                                    at<T>(results[1], i, k), u, &lda, v, &ldv, work, size,
                                    integers.as<int>(), &info, 1);
      }));
      if (info == 0) return ok();
      return error(Error::InvalidArgument, "matrix ", i,
                   ": no singular values were found (LAPACK: ", info,
                   "); it may have numbers that are not finite");
    });
  });
}

Status find_determinant(const ModelTensor& self, OperatorResults results) {
  TENON_TRY(const Matrices all, matrices_of(self, true));
  return with_lapack_type(self.scalar_type, [&]<class T>(T) -> Status {
    const std::int64_t n = all.rows;
    TENON_TRY(results[0], new_numbers(all, self.scalar_type));
    TENON_TRY(results[1], new_matrices(all, n, n, self.scalar_type));
    TENON_TRY(results[2], new_lists(all, n, ScalarType::Int));
    copy(self, *results[1]);
    return for_each(all, [&](std::int64_t i) {
      T* const triangles = at<T>(results[1], i, n * n);
      int* const pivots = at<int>(results[2], i, n);
      int info = 0;
      factor_triangles(n, triangles, pivots, info);
      T product{1};
      for (std::int64_t d = 0; d < n; ++d) {
        product *= pivots[d] == d + 1 ? triangles[d * n + d] : -triangles[d * n + d];
      }
      *at<T>(results[0], i, 1) = product;
      return ok();
    });
  });
}

Status find_eigenvalues(const ModelTensor& self, bool upper, bool with_vectors,
                        OperatorResults results) {
  TENON_TRY(const Matrices all, matrices_of(self, true));
  return with_lapack_type(self.scalar_type, [&]<class T>(T) -> Status {
    const std::int64_t n = all.rows;
    TENON_TRY(results[0], new_lists(all, n, self.scalar_type));
    TENON_TRY(OwnedTensor vectors, new_matrices(all, n, n, self.scalar_type));
    copy(self, *vectors);
    const int size = as_int(n), lda = leading(n);
    // What LAPACK needs (its documentation of syevd). It ends the process when it gets less.
    const int num_integers = with_vectors ? 3 + 5 * size : 1;
    const std::int64_t least = with_vectors ? 1 + 6 * n + 2 * n * n : 2 * n + 1;
    TENON_TRY(const Scratch integers,
              Scratch::of(num_integers * static_cast<std::int64_t>(sizeof(int))));
    const auto find = [&](std::int64_t i) -> Status {
      if (n == 0) return ok();
      int info = 0;
      const auto call = [&](T* work, int* work_size) {
        lapack::routines<T>().syevd(with_vectors ? "V" : "N", upper ? "U" : "L", &size,
                                    at<T>(vectors, i, n * n), &lda, at<T>(results[0], i, n), work,
                                    work_size, integers.as<int>(), &num_integers, &info, 1, 1);
      };
      TENON_RETURN_IF_ERROR(with_work<T>(call, least));
      if (info == 0) return ok();
      return error(Error::InvalidArgument, "matrix ", i,
                   ": no eigenvalues were found (LAPACK: ", info,
                   "); it may have numbers that are not finite");
    };
    TENON_RETURN_IF_ERROR(for_each(all, find));
    if (with_vectors) {
      results[1] = std::move(vectors);
    } else {
      TENON_TRY(results[1], new_nothing(self.scalar_type));
    }
    return ok();
  });
}

Status check_info(const ModelTensor& info, std::string_view function) {
  if (info.scalar_type != ScalarType::Int) {
    return error(Error::InvalidType, "numbers of ", name_of(info.scalar_type), ": expected Int");
  }
  int found = 0;
  for_positions<1>(info.shape(), no_dim, {info.strides.data()}, [&](const auto& position) {
    const int number = info.as<const int>()[position[0]];
    if (found == 0) found = number;
  });
  if (found == 0) return ok();
  return error(Error::InvalidArgument, function,
               ": a matrix is singular or not positive definite (LAPACK: ", found, ")");
}

}  // namespace tenon::cpu_aoti
