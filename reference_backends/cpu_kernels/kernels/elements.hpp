// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "strided.hpp"
#include "tenon/core/result.hpp"

/// Element types, conversions between them, and loops over positions.
namespace tenon::cpu_aoti {

/// PyTorch's bool: any byte but 0 is true.
struct Bool {
  std::uint8_t byte;
};

/// Calls `body` with an element of that floating-point type. errors: InvalidType for others.
template <class Body>
Status with_real_type(ScalarType type, Body&& body) {
  switch (type) {
    case ScalarType::Half:
      return body(Half{});
    case ScalarType::Float:
      return body(float{});
    case ScalarType::Double:
      return body(double{});
    case ScalarType::BFloat16:
      return body(BFloat16{});
    default:
      return error(Error::InvalidType, "elements of ", name_of(type),
                   ": expected Float, Double, BFloat16 or Half");
  }
}

/// Calls `body` with a value of the C++ type of `type`; only its type matters.
template <class Body>
Status with_type(ScalarType type, Body&& body) {
  switch (type) {
    case ScalarType::Byte:
      return body(std::uint8_t{});
    case ScalarType::Char:
      return body(std::int8_t{});
    case ScalarType::Short:
      return body(std::int16_t{});
    case ScalarType::Int:
      return body(std::int32_t{});
    case ScalarType::Long:
      return body(std::int64_t{});
    case ScalarType::Bool:
      return body(Bool{});
    case ScalarType::Half:
    case ScalarType::Float:
    case ScalarType::Double:
    case ScalarType::BFloat16:
      return with_real_type(type, body);
    default:
      return error(Error::NotSupported, "elements of ", name_of(type),
                   ": expected real numbers of at most 64 bits, or Bool");
  }
}

/// The type to compute in, which holds every value of T. Halves are computed as floats.
template <class T>
using Wide =
    std::conditional_t<std::is_same_v<T, double> || std::is_same_v<T, float>, T,
                       std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>,
                                          float, std::int64_t>>;

template <class T>
[[nodiscard]] Wide<T> widen(T value) noexcept {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return value.to_float();
  } else if constexpr (std::is_same_v<T, Bool>) {
    return value.byte != 0 ? 1 : 0;
  } else {
    return value;
  }
}

/// Conversion as in C++, but defined for every value: a fraction is cut off, and a value outside 64
/// bits becomes the smallest number.
template <class T, class From>
[[nodiscard]] T narrow(From value) noexcept {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T::from_float(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, Bool>) {
    return {value != From{0} ? std::uint8_t{1} : std::uint8_t{0}};
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<From>) {
    constexpr From end = static_cast<From>(9223372036854775808.0);
    const bool fits = value >= -end && value < end;
    return static_cast<T>(fits ? static_cast<std::int64_t>(value)
                               : std::numeric_limits<std::int64_t>::min());
  } else {
    return static_cast<T>(value);
  }
}

/// The index of dimension `dim`, counted from the end when negative. A scalar has one dimension of
/// size 1.
inline Result<std::size_t> wrap_dim(std::int64_t dim, std::int32_t rank) {
  const std::int64_t count = rank > 0 ? rank : 1;
  if (dim < -count || dim >= count) {
    return error(Error::InvalidArgument, "dimension ", dim, " of ", rank, ": expected ", -count,
                 " to ", count - 1);
  }
  return static_cast<std::size_t>(dim < 0 ? dim + count : dim);
}

inline constexpr std::size_t no_dim = max_rank;

/// Visits all positions of `sizes` in row-major order, but only index 0 of dimension `skipped`:
/// `visit` gets the offset under each set of strides.
template <std::size_t count, class Visit>
void for_positions(Sizes sizes, std::size_t skipped,
                   const std::array<const std::int64_t*, count>& strides, const Visit& visit) {
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0 && d != skipped) return;
  }
  Dims index{};
  std::array<std::int64_t, count> at{};
  for (;;) {
    visit(at);
    std::size_t d = sizes.size();
    for (; d > 0; --d) {
      if (d - 1 == skipped) continue;
      for (std::size_t i = 0; i < count; ++i) at[i] += strides[i][d - 1];
      if (++index[d - 1] < sizes[d - 1]) break;
      for (std::size_t i = 0; i < count; ++i) at[i] -= strides[i][d - 1] * sizes[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

}  // namespace tenon::cpu_aoti
