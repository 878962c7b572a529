// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "tenon/aot/compiler/pt2/sym_range.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

using DimOrder = std::vector<std::uint8_t>;

/// Whether elements follow each other without gaps when dimensions are laid out in `order`, from
/// the outermost to the innermost. Strides of dimensions with one element do not matter.
[[nodiscard]] inline bool is_dense_in(std::span<const std::int64_t> sizes,
                                      std::span<const std::int64_t> strides,
                                      std::span<const std::uint8_t> order) {
  std::int64_t expected = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t dim = order[i];
    if (sizes[dim] == 0) return true;
    if (sizes[dim] == 1) continue;
    if (strides[dim] != expected) return false;
    expected = saturated_multiply(expected, sizes[dim]);
  }
  return true;
}

/// The order in which a tensor with these strides is dense; nothing when there is none. Where
/// several fit, because dimensions have one element, it is the plain order, then "channels last".
[[nodiscard]] inline std::optional<DimOrder> dense_order(std::span<const std::int64_t> sizes,
                                                         std::span<const std::int64_t> strides) {
  DimOrder order(sizes.size());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  if (is_dense_in(sizes, strides, order)) return order;
  if (sizes.size() == 4 || sizes.size() == 5) {
    DimOrder channels_last = order;
    std::rotate(channels_last.begin() + 1, channels_last.begin() + 2, channels_last.end());
    if (is_dense_in(sizes, strides, channels_last)) return channels_last;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint8_t a, std::uint8_t b) { return strides[a] > strides[b]; });
  if (is_dense_in(sizes, strides, order)) return order;
  return std::nullopt;
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
