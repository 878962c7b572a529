// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/vectors/vector_level.hpp"

namespace tenon::cpu_aoti {

/// Numbers of both forms of `exponential`.
namespace exponential_of {

constexpr float to_integer = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number.
constexpr float log2_e = 1.44269504f;
constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
constexpr float polynomial[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};

}  // namespace exponential_of

/// exp(x) to two units in the last place, without a branch, a loop or a call, so that loops over it
/// are vectorised. |x| <= 87.3: x = n ln 2 + r with |r| <= ln 2 / 2, exp(r) by a polynomial, times
/// 2^n. NaN gives NaN.
[[gnu::always_inline]] inline float exponential(float x) noexcept {
  using namespace exponential_of;
  const float shifted = x * log2_e + to_integer;
  const float n = shifted - to_integer;
  const float r = (x - n * ln2_high) - n * ln2_low;
  float p = polynomial[0];
  p = p * r + polynomial[1];
  p = p * r + polynomial[2];
  p = p * r + polynomial[3];
  p = p * r + polynomial[4];
  p = p * r + polynomial[5];
  p = p * r * r + r + 1.0f;
  const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) + 127u) << 23;
  return p * std::bit_cast<float>(power);
}

#if defined(__x86_64__)
/// exp(x) of eight floats, each with the result of `exponential(float)`.
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline __m256 exponential(__m256 x) noexcept {
  using namespace exponential_of;
  const __m256 shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(log2_e), _mm256_set1_ps(to_integer));
  const __m256 n = _mm256_sub_ps(shifted, _mm256_set1_ps(to_integer));
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(ln2_high), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(ln2_low), r);
  __m256 p = _mm256_set1_ps(polynomial[0]);
  TENON_CPU_AOTI_UNROLL
  for (int i = 1; i < 6; ++i) p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(polynomial[i]));
  p = _mm256_add_ps(_mm256_fmadd_ps(_mm256_mul_ps(p, r), r, r), _mm256_set1_ps(1));
  const __m256i power =
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(127)), 23);
  return _mm256_mul_ps(p, _mm256_castsi256_ps(power));
}
#endif

}  // namespace tenon::cpu_aoti
