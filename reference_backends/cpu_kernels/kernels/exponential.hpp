// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

namespace tenon::cpu_aoti {

/// exp(x) to two units in the last place, without a branch or a call, so that loops over it are
/// vectorised. |x| <= 87.3: x = n ln 2 + r with |r| <= ln 2 / 2, exp(r) by a polynomial, times 2^n.
/// NaN gives NaN.
[[gnu::always_inline]] inline float exponential(float x) noexcept {
  constexpr float to_integer = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number.
  const float shifted = x * 1.44269504f + to_integer;
  const float n = shifted - to_integer;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) + 127u) << 23;
  return p * std::bit_cast<float>(power);
}

}  // namespace tenon::cpu_aoti
