// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE {

/// Chooses among candidates that do the same, such as libraries compiled for different devices:
/// the number of the one with the highest `fit(i)`, for i below `count`; of equal ones the first.
/// A fit of 0 is a candidate that cannot be used. Empty when none can.
template <class Fit>
  requires std::convertible_to<std::invoke_result_t<Fit&, std::size_t>, std::uint64_t>
[[nodiscard]] constexpr std::optional<std::size_t> best_fit(std::size_t count, Fit&& fit) {
  std::optional<std::size_t> best;
  std::uint64_t highest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t each = fit(i);
    if (each <= highest) continue;
    highest = each;
    best = i;
  }
  return best;
}

}}  // namespace tenon::TENON_RELEASE
