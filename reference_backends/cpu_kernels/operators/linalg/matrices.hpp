// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "kernels/elements.hpp"
#include "operators/linalg/lapack.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

/// Batches of matrices as LAPACK reads them: columns one after the other.
namespace tenon::cpu_aoti::matrices {

/// The sizes of a batch of matrices.
struct Matrices {
  Dims sizes{};
  std::size_t batch_rank = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  [[nodiscard]] Sizes batch() const noexcept { return Sizes(sizes).first(batch_rank); }
  [[nodiscard]] std::int64_t least() const noexcept { return std::min(rows, columns); }
};

inline Result<Matrices> matrices_of(const ModelTensor& self, bool is_square) {
  Matrices out;
  const auto rank = static_cast<std::size_t>(self.rank);
  // Sizes of LAPACK are int, also the size of its working memory.
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
inline Result<OwnedTensor> new_turned(Sizes sizes, ScalarType type) {
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
inline Result<OwnedTensor> new_matrices(const Matrices& like, std::int64_t rows,
                                        std::int64_t columns, ScalarType type) {
  Dims sizes = like.sizes;
  sizes[like.batch_rank] = rows;
  sizes[like.batch_rank + 1] = columns;
  return new_turned(Sizes(sizes).first(like.batch_rank + 2), type);
}
inline Result<OwnedTensor> new_lists(const Matrices& like, std::int64_t size, ScalarType type) {
  Dims sizes = like.sizes;
  sizes[like.batch_rank] = size;
  return new_tensor(Sizes(sizes).first(like.batch_rank + 1), nullptr, type);
}
inline Result<OwnedTensor> new_numbers(const Matrices& like, ScalarType type) {
  return new_tensor(like.batch(), nullptr, type);
}
inline Result<OwnedTensor> new_nothing(ScalarType type) {
  constexpr std::int64_t none[] = {0};
  return new_tensor(none, nullptr, type);
}

/// Copies a tensor to one of the same rank, whose sizes may be smaller or broadcast.
inline void copy(const ModelTensor& from, const ModelTensor& to) {
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

[[nodiscard]] inline int as_int(std::int64_t value) noexcept { return static_cast<int>(value); }
/// LAPACK requires leading dimensions of at least 1.
[[nodiscard]] inline int leading(std::int64_t rows) noexcept { return std::max(as_int(rows), 1); }

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

/// Factors a matrix into reflectors, in place, and their scalars.
template <class T>
Status factor_reflectors(std::int64_t rows, std::int64_t columns, T* matrix, T* scalars) {
  const int m = as_int(rows), n = as_int(columns), lda = leading(rows);
  if (m == 0 || n == 0) return ok();
  return with_work<T>([&](T* work, int* size) {
    int info = 0;
    lapack::routines<T>().geqrf(&m, &n, matrix, &lda, scalars, work, size, &info);
  });
}

/// The solutions for right sides: the batches of the matrices and of the right sides are broadcast.
/// Nothing when they do not fit.
inline std::optional<Matrices> solutions_of(const Matrices& all, const ModelTensor& right,
                                            bool is_vector, bool left) {
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

}  // namespace tenon::cpu_aoti::matrices
