// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "strided.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/status.hpp"

namespace tenon::cpu_aoti {

/// A matrix with any strides, in elements.
struct MatrixView {
  std::byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;

  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return reinterpret_cast<T*>(data);
  }
  template <class T>
  [[nodiscard]] T* at(std::int64_t row, std::int64_t col) const noexcept {
    return as<T>() + row * row_stride + col * col_stride;
  }
};

/// Matrix `batch` of a tensor of rank 3, or the only one of a tensor of rank 2.
[[nodiscard]] MatrixView matrix_of(const ModelTensor& tensor, std::int64_t batch) noexcept;

/// C = alpha A B + beta C, all of one type. With beta 0 C is not read.
struct Product {
  ScalarType type;
  MatrixView a, b, c;
  double alpha = 1;
  double beta = 0;
  bool is_b_fixed = false;  ///< B is a constant that nothing writes to (`aoti::Storage::is_fixed`).
};

Status multiply(const Product& product);

/// True for a product that `multiply_by_vectors` computes and that oneDNN has nothing faster for: a
/// processor with AVX2, FMA and F16C, and rows or columns without gaps in B. With AVX2 alone it is
/// any product of BFloat16 or Half but small ones of more rows than columns, and one of Float whose
/// B does not fit the caches, where B is fixed and in columns or A has 16 rows; else one of
/// BFloat16 or Half with few rows in A.
[[nodiscard]] bool has_vector_product(const Product& p) noexcept;

/// C = alpha A B + beta C for a product for which `has_vector_product` is true. Reads each element
/// of B once for four rows, or from 16 rows on for 256, without a copy of B as floats; the sums are
/// floats, and each result is rounded once. errors: MemoryAllocationFailed, for the sums and the
/// packed rows of A.
Status multiply_by_vectors(const Product& p);

}  // namespace tenon::cpu_aoti
