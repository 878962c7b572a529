// SPDX-License-Identifier: MIT
#include "operators/linalg/linalg.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "kernels/elements.hpp"
#include "operators/linalg/lapack.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

/// The sizes of a batch of matrices.
struct Matrices {
  Dims sizes{};
  std::size_t batch_rank = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  [[nodiscard]] Sizes batch() const noexcept { return Sizes(sizes).first(batch_rank); }
  [[nodiscard]] std::int64_t least() const noexcept { return std::min(rows, columns); }
};

Result<Matrices> matrices_of(const ModelTensor& self, bool is_square) {
  Matrices out;
  const auto rank = static_cast<std::size_t>(self.rank);
  // Sizes of LAPACK are int, and so are those of its working memory.
  constexpr std::int64_t most = 1 << 14;
  if (rank >= 2) {
    out.sizes = self.sizes;
    out.batch_rank = rank - 2;
    out.rows = self.sizes[rank - 2];
    out.columns = self.sizes[rank - 1];
  }
  if (rank < 2 || (is_square && out.rows != out.columns) || out.rows > most || out.columns > most) {
    return error(Error::InvalidArgument, "a tensor ", shape_text(self.shape()), ": expected ",
                 is_square ? "square " : "", "matrices of at most ", most, " rows and columns");
  }
  return out;
}

/// A tensor in which the last two dimensions have changed places in memory.
Result<OwnedTensor> new_turned(Sizes sizes, ScalarType type) {
  Dims strides{};
  const std::size_t rank = sizes.size();
  aoti::contiguous_strides(sizes, std::span(strides).first(rank));
  if (rank >= 2) {
    strides[rank - 1] = std::max<std::int64_t>(sizes[rank - 2], 1);
    strides[rank - 2] = 1;
  }
  return new_tensor(sizes, strides.data(), type);
}
/// A tensor of matrices with columns one after the other.
Result<OwnedTensor> new_matrices(const Matrices& like, std::int64_t rows, std::int64_t columns,
                                 ScalarType type) {
  Dims sizes = like.sizes;
  sizes[like.batch_rank] = rows;
  sizes[like.batch_rank + 1] = columns;
  return new_turned(Sizes(sizes).first(like.batch_rank + 2), type);
}
Result<OwnedTensor> new_lists(const Matrices& like, std::int64_t size, ScalarType type) {
  Dims sizes = like.sizes;
  sizes[like.batch_rank] = size;
  return new_tensor(Sizes(sizes).first(like.batch_rank + 1), nullptr, type);
}
Result<OwnedTensor> new_numbers(const Matrices& like, ScalarType type) {
  return new_tensor(like.batch(), nullptr, type);
}
Result<OwnedTensor> new_nothing(ScalarType type) {
  constexpr std::int64_t none[] = {0};
  return new_tensor(none, nullptr, type);
}

/// Copies a tensor to one of the same rank, whose sizes may be smaller or broadcast.
void copy(const ModelTensor& from, const ModelTensor& to) {
  Dims strides{};
  static_cast<void>(broadcast_strides(from, to.shape(), strides));  // The caller has checked it.
  copy_strided(to.shape(), size_of(to.scalar_type), {to.data, to.strides.data()},
               {from.data, strides.data()});
}

template <class Body>
Status with_lapack_type(ScalarType type, Body&& body) {
  TENON_RETURN_IF_ERROR(lapack::load());
  if (type == ScalarType::Float) return body(float{});
  if (type == ScalarType::Double) return body(double{});
  return error(Error::NotSupported, "elements of ", name_of(type), ": expected Float or Double");
}

/// Calls `body(index)` with the number of each matrix.
template <class Body>
Status for_each(const Matrices& all, const Body& body) {
  std::int64_t count = 1;
  for (const std::int64_t size : all.batch()) count *= size;
  for (std::int64_t i = 0; i < count; ++i) TENON_RETURN_IF_ERROR(body(i));
  return ok();
}

/// The elements of matrix or list `index` of a tensor that was made here.
template <class T>
T* at(const OwnedTensor& tensor, std::int64_t index, std::int64_t elements) {
  return tensor->as<T>() + index * elements;
}

int as_int(std::int64_t value) noexcept { return static_cast<int>(value); }
/// LAPACK requires leading dimensions of at least 1.
int leading(std::int64_t rows) noexcept { return std::max(as_int(rows), 1); }

/// Factors square matrices into triangles. `triangles` holds them at first.
template <class T>
void factor_triangles(std::int64_t size, T* triangles, int* pivots, int& info) {
  const int n = as_int(size), lda = leading(size);
  info = 0;
  if (n != 0) lapack::routines<T>().getrf(&n, &n, triangles, &lda, pivots, &info);
}

/// `solution` holds the right sides at first, each in one piece. With `is_turned` the matrix is the
/// transposed one.
template <class T>
void solve_triangles(std::int64_t size, std::int64_t columns, const T* triangles, const int* pivots,
                     T* solution, bool is_turned = false) {
  const int n = as_int(size), nrhs = as_int(columns), lda = leading(size);
  int info = 0;
  if (n == 0 || nrhs == 0) return;
  lapack::routines<T>().getrs(is_turned ? "T" : "N", &n, &nrhs, triangles, &lda, pivots, solution,
                              &lda, &info, 1);
}

/// Working memory of the size that a routine asks for, and of at least `least` elements:
/// `call(work, lwork)` is made twice.
template <class T, class Call>
Status with_work(const Call& call, std::int64_t least = 1) {
  T wanted{};
  int query = -1;
  call(&wanted, &query);
  int size = lapack::work_size(wanted, least);
  TENON_TRY(const Scratch work, Scratch::of(size * static_cast<std::int64_t>(sizeof(T))));
  call(work.as<T>(), &size);
  return ok();
}

/// The solutions for right sides: their batch is that of the matrices and that of the right sides,
/// broadcast. Nothing when they do not fit.
std::optional<Matrices> solutions_of(const Matrices& all, const ModelTensor& right, bool is_vector,
                                     bool left) {
  const auto rank = static_cast<std::size_t>(right.rank);
  const std::size_t own = is_vector ? 1 : 2;
  if (rank < own || right.sizes[rank - (left ? own : 1)] != all.rows) return std::nullopt;
  const Sizes a = all.batch(), b = right.shape().first(rank - own);
  Matrices out;
  out.batch_rank = std::max(a.size(), b.size());
  for (std::size_t d = 1; d <= out.batch_rank; ++d) {
    const std::int64_t in_a = d <= a.size() ? a[a.size() - d] : 1;
    const std::int64_t in_b = d <= b.size() ? b[b.size() - d] : 1;
    if (in_a != in_b && in_a != 1 && in_b != 1) return std::nullopt;
    out.sizes[out.batch_rank - d] = in_a == 1 ? in_b : in_a;
  }
  out.rows = left ? all.rows : right.sizes[rank - 2];
  out.columns = is_vector ? 1 : right.sizes[rank - 1];
  if (std::max(out.rows, out.columns) > std::numeric_limits<int>::max()) return std::nullopt;
  out.sizes[out.batch_rank] = out.rows;
  out.sizes[out.batch_rank + 1] = out.columns;
  return out;
}

template <class T>
void set_identity(T* matrix, std::int64_t size) {
  std::fill_n(matrix, size * size, T{});
  for (std::int64_t d = 0; d < size; ++d) matrix[d * size + d] = T{1};
}

/// Sets all below the diagonal, or all above it, to 0.
template <class T>
void clear_triangle(T* matrix, std::int64_t rows, std::int64_t columns, bool below) {
  for (std::int64_t c = 0; c < columns; ++c) {
    const std::int64_t first = below ? std::min(c + 1, rows) : 0;
    const std::int64_t end = below ? rows : std::min(c, rows);
    std::fill(matrix + c * rows + first, matrix + c * rows + end, T{});
  }
}

}  // namespace

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
    const int rows = as_int(m), columns = as_int(n), lda = leading(m), q_size = as_int(q_columns);
    const int least = as_int(k);
    int info = 0;
    const auto& routines = lapack::routines<T>();
    return for_each(all, [&](std::int64_t i) -> Status {
      T* const factor = at<T>(factors, i, m * n);
      if (k != 0) {
        TENON_RETURN_IF_ERROR(with_work<T>([&](T* work, int* size) {
          routines.geqrf(&rows, &columns, factor, &lda, tau.as<T>(), work, size, &info);
        }));
      }
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
