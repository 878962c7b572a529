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

}  // namespace tenon::cpu_aoti
