// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kernels/vectors/vector_level.hpp"

namespace tenon::cpu_aoti {

/// A product of 8-bit numbers: [rows, inner] with rows at a distance of `a_stride` bytes, and
/// [columns, inner] with columns at `b_stride`, or [inner, columns] with rows at `b_stride`. The
/// result has any strides, in elements.
struct DotProducts {
  const void* a;  ///< Char, or Byte when `a_is_byte`
  const std::int8_t* b;
  std::uint32_t* out;
  std::int64_t rows, columns, inner;
  std::int64_t a_stride, b_stride, row_stride, column_stride;
  bool a_is_byte;
  bool b_in_rows;  ///< b is [inner, columns]; level `vnni` alone has code for it
};

/// Computes the product with code of `level`, which this processor must have. Sums are exact and
/// wrap around, as PyTorch's do: they are computed without sign, because an overflow of `int` is
/// undefined.
void multiply(const DotProducts& product, VectorLevel level) noexcept;

}  // namespace tenon::cpu_aoti
