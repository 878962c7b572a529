// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// All integers from `min` to `max`. The ends of the type mean infinity, and what would
/// overflow becomes infinite: a range holds at least what it should.
struct SymRange {
  static constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

  std::int64_t min = lowest;
  std::int64_t max = highest;

  [[nodiscard]] static SymRange only(std::int64_t number) noexcept { return {number, number}; }
  [[nodiscard]] static SymRange hull(std::initializer_list<std::int64_t> numbers) {
    return {std::min(numbers), std::max(numbers)};
  }
  [[nodiscard]] bool is_one_number() const noexcept { return min == max; }
  [[nodiscard]] static bool is_finite(std::int64_t number) noexcept {
    return number != lowest && number != highest;
  }

  friend bool operator==(const SymRange&, const SymRange&) = default;
};

/// Sum of two ends of the same side, of which an infinite one stays so.
[[nodiscard]] inline std::int64_t saturated_add(std::int64_t a, std::int64_t b) noexcept {
  if (!SymRange::is_finite(a)) return a;
  if (!SymRange::is_finite(b)) return b;
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? SymRange::lowest : SymRange::highest;
}

/// 0 times infinity is 0: the other range has numbers that come near, but none that is infinite.
[[nodiscard]] inline std::int64_t saturated_multiply(std::int64_t a, std::int64_t b) noexcept {
  if (a == 0 || b == 0) return 0;
  const bool negative = (a < 0) != (b < 0);
  std::int64_t product = 0;
  if (SymRange::is_finite(a) && SymRange::is_finite(b) && !__builtin_mul_overflow(a, b, &product)) {
    return product;
  }
  return negative ? SymRange::lowest : SymRange::highest;
}

/// Rounds down, as Python's `//`. `b` is above 0.
[[nodiscard]] inline std::int64_t floor_quotient(std::int64_t a, std::int64_t b) noexcept {
  if (!SymRange::is_finite(a)) return a;
  if (b == SymRange::highest) return a < 0 ? -1 : 0;
  return a / b - (a % b != 0 && a < 0 ? 1 : 0);
}

[[nodiscard]] inline SymRange operator+(const SymRange& a, const SymRange& b) noexcept {
  return {saturated_add(a.min, b.min), saturated_add(a.max, b.max)};
}

[[nodiscard]] inline SymRange operator*(const SymRange& a, const SymRange& b) {
  return SymRange::hull({saturated_multiply(a.min, b.min), saturated_multiply(a.min, b.max),
                         saturated_multiply(a.max, b.min), saturated_multiply(a.max, b.max)});
}

/// Everything when the divisor may be 0 or negative, which no size is.
[[nodiscard]] inline SymRange floor_divide(const SymRange& a, const SymRange& b) {
  if (b.min <= 0) return {};
  return SymRange::hull({floor_quotient(a.min, b.min), floor_quotient(a.min, b.max),
                         floor_quotient(a.max, b.min), floor_quotient(a.max, b.max)});
}

/// Remainder with the sign of the divisor, as Python's `%`.
[[nodiscard]] inline SymRange remainder(const SymRange& a, const SymRange& b) noexcept {
  if (b.min <= 0) return {};
  if (a.min >= 0 && a.max < b.min) return a;
  const std::int64_t largest = SymRange::is_finite(b.max) ? b.max - 1 : b.max;
  return {0, a.min >= 0 ? std::min(a.max, largest) : largest};
}

[[nodiscard]] inline SymRange largest_of(const SymRange& a, const SymRange& b) noexcept {
  return {std::max(a.min, b.min), std::max(a.max, b.max)};
}
[[nodiscard]] inline SymRange smallest_of(const SymRange& a, const SymRange& b) noexcept {
  return {std::min(a.min, b.min), std::min(a.max, b.max)};
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
