// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

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

/// C = alpha A B + beta C, all of one type, unless C is Float. With beta 0 C is not read.
struct Product {
  ScalarType type;
  MatrixView a, b, c;
  double alpha = 1;
  double beta = 0;
  bool float_result = false;  ///< C is Float, where A and B are BFloat16 or Half.
  bool is_b_fixed = false;  ///< B is a constant that nothing writes to (`aoti::Storage::is_fixed`).

  [[nodiscard]] ScalarType result_type() const noexcept {
    return float_result ? ScalarType::Float : type;
  }
};

Status multiply(const Product& product);

/// True where a product of BFloat16 matrices, A with `rows` rows and B transposed, needs no copies
/// as floats: this processor has instructions for it.
[[nodiscard]] bool has_bfloat16_products(std::int64_t rows) noexcept;

}  // namespace tenon::cpu_aoti
