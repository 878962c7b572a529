// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace metal_test {

/// The value of a 16-bit float (IEEE binary16) given by its bits.
inline double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  double out = exponent == 0    ? std::ldexp(mantissa, -24)
               : exponent == 31 ? (mantissa != 0 ? std::nan("") : INFINITY)
                                : std::ldexp(mantissa + 1024, exponent - 25);
  return bits >> 15 != 0 ? -out : out;
}

/// The bits of the nearest 16-bit float of a number that is finite as one.
inline std::uint16_t half_bits(double value) {
  const double magnitude = std::abs(value);
  const int exponent = magnitude == 0 ? -14 : std::max(std::ilogb(magnitude), -14);
  const auto mantissa = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return static_cast<std::uint16_t>((std::signbit(value) ? 0x8000 : 0) + (exponent + 14) * 1024 +
                                    mantissa);
}

}  // namespace metal_test
