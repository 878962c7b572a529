// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Element type and shape of a dense tensor, as `.pte` and `.ptd` files state them (ExecuTorch:
/// exir/tensor_layout.py).
struct DenseLayout {
  ScalarType scalar_type = ScalarType::Float;
  std::vector<std::int32_t> sizes;
  /// Dimensions from the outermost in memory to the innermost. Empty means contiguous: 0, 1, 2, ...
  std::vector<std::uint8_t> dim_order = {};

  /// The dim order with "empty" spelled out.
  [[nodiscard]] std::vector<std::uint8_t> full_dim_order() const {
    auto out = dim_order;
    for (std::size_t i = 0; dim_order.empty() && i < sizes.size(); ++i) {
      out.push_back(static_cast<std::uint8_t>(i));
    }
    return out;
  }

  /// Of a layout that `check_layout` accepts; 1 for a scalar.
  [[nodiscard]] std::uint64_t numel() const noexcept {
    std::uint64_t out = 1;
    for (const std::int32_t size : sizes) out *= static_cast<std::uint64_t>(size);
    return out;
  }
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return numel() * size_of(scalar_type); }

  friend bool operator==(const DenseLayout& a, const DenseLayout& b) {
    return a.scalar_type == b.scalar_type && a.sizes == b.sizes &&
           a.full_dim_order() == b.full_dim_order();
  }
};

/// Checks what every reader relies on: a scalar type that the file formats have, at most `max_rank`
/// dimensions, no negative size, a dim order that is a permutation, and a number of bytes that fits
/// in 63 bits even when sizes of 0 count as 1 (strides are computed that way).
///
/// errors: InvalidArgument; NotSupported for a scalar type that the runtime has and the formats do
///         not (complex numbers and four kinds of bit fields).
[[nodiscard]] inline Status check_layout(const DenseLayout& layout) {
  const std::size_t element = size_of(layout.scalar_type);
  const int number = static_cast<int>(layout.scalar_type);
  if (element == 0) {
    return error(Error::InvalidArgument, "scalar type is ", number, ", expected a known one");
  }
  if ((number >= static_cast<int>(ScalarType::ComplexHalf) &&
       number <= static_cast<int>(ScalarType::ComplexDouble)) ||
      (number >= static_cast<int>(ScalarType::Bits1x8) &&
       number <= static_cast<int>(ScalarType::Bits8))) {
    return error(Error::NotSupported, "scalar type is ", name_of(layout.scalar_type),
                 ", which .pte and .ptd files cannot hold");
  }
  const std::size_t rank = layout.sizes.size();
  if (rank > max_rank) {
    return error(Error::InvalidArgument, "rank is ", rank, ", expected at most ", max_rank);
  }
  std::uint64_t nbytes = element;
  for (std::size_t i = 0; i < rank; ++i) {
    if (layout.sizes[i] < 0) {
      return error(Error::InvalidArgument, "sizes[", i, "] is ", layout.sizes[i],
                   ", expected 0 or more");
    }
    const auto size = static_cast<std::uint64_t>(layout.sizes[i] == 0 ? 1 : layout.sizes[i]);
    if (nbytes > std::uint64_t{std::numeric_limits<std::int64_t>::max()} / size) {
      return error(Error::InvalidArgument, "sizes: the number of bytes overflows at dimension ", i);
    }
    nbytes *= size;
  }
  if (layout.dim_order.empty()) return ok();
  if (layout.dim_order.size() != rank) {
    return error(Error::InvalidArgument, "dim_order has ", layout.dim_order.size(),
                 " entries, expected the rank, ", rank);
  }
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    const unsigned dimension = layout.dim_order[i];
    if (dimension >= rank || (seen >> dimension & 1u) != 0) {
      return error(Error::InvalidArgument, "dim_order[", i, "] is ", dimension,
                   ", expected each dimension below ", rank, " once");
    }
    seen |= 1u << dimension;
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::aot
