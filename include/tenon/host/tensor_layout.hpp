// SPDX-License-Identifier: MIT
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::host {

/// Shape of a tensor as a file states it. The spans point into the file.
struct TensorLayout {
  ScalarType scalar_type = ScalarType::Byte;
  std::span<const std::int32_t> sizes;
  std::span<const std::uint8_t> dim_order;  ///< From the outermost dimension to the innermost.

  [[nodiscard]] std::uint64_t numel() const noexcept {
    std::uint64_t numel = 1;
    for (const auto size : sizes) numel *= static_cast<std::uint64_t>(size);
    return numel;
  }
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return numel() * size_of(scalar_type); }
};

namespace detail {

/// The layout of a table with `scalar_type`, `sizes` and `dim_order`, unchecked.
template <class Table>
[[nodiscard]] TensorLayout layout_of(const Table& table) noexcept {
  return {static_cast<ScalarType>(table.scalar_type()),
          {table.sizes()->data(), table.sizes()->size()},
          {table.dim_order()->data(), table.dim_order()->size()}};
}

/// Checks what `layout_of` and the arithmetic of `TensorLayout` rely on: a known scalar type, at
/// most 16 dimensions, no negative size, a dim order that is a permutation, and a number of bytes
/// that fits in 63 bits even when sizes of 0 count as 1 (strides are computed that way).
///
/// errors: `code`.
template <class Table>
[[nodiscard]] Status verify_layout(const Table& table, Error code) {
  if (find_scalar_type(static_cast<std::int64_t>(table.scalar_type())) == nullptr) {
    return error(code, "scalar_type is ", static_cast<int>(table.scalar_type()),
                 ", expected a known type, 0 to ", scalar_types.size() - 1);
  }
  const auto* sizes = table.sizes();
  const auto* dim_order = table.dim_order();
  if (sizes == nullptr) return error(code, "sizes is missing");
  if (dim_order == nullptr) return error(code, "dim_order is missing");
  const std::size_t rank = sizes->size();
  if (rank > max_rank) {
    return error(code, "rank is ", rank, ", expected at most ", max_rank);
  }
  if (dim_order->size() != rank) {
    return error(code, "dim_order has ", dim_order->size(), " entries, expected the rank, ", rank);
  }
  std::uint32_t seen = 0;
  std::uint64_t nbytes = size_of(static_cast<ScalarType>(table.scalar_type()));
  for (flatbuffers::uoffset_t i = 0; i < rank; ++i) {
    if (sizes->Get(i) < 0) {
      return error(code, "sizes[", i, "] is ", sizes->Get(i), ", expected 0 or more");
    }
    const std::uint32_t dimension = dim_order->Get(i);
    if (dimension >= rank) {
      return error(code, "dim_order[", i, "] is ", dimension, ", expected below the rank, ", rank);
    }
    if ((seen >> dimension & 1u) != 0) {
      return error(code, "dim_order[", i, "] is ", dimension, ", which appeared before");
    }
    seen |= 1u << dimension;
    const auto size = static_cast<std::uint64_t>(std::max(sizes->Get(i), 1));
    if (nbytes > std::uint64_t{std::numeric_limits<std::int64_t>::max()} / size) {
      return error(code, "sizes: the number of bytes overflows at dimension ", i);
    }
    nbytes *= size;
  }
  return ok();
}

}  // namespace detail
}  // namespace tenon::host
