// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/vectors/vector_level.hpp"
#include "tenon/core/scalar_type.hpp"

#if defined(__x86_64__)

namespace tenon::cpu_aoti {

/// Eight elements as floats, in their order. T is float, BFloat16, Half or std::int8_t.
template <class T>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline __m256 eight_floats(const T* from) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    return _mm256_loadu_ps(from);
  } else if constexpr (std::is_same_v<T, std::int8_t>) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
  } else {
    static_assert(std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>);
    const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    if constexpr (std::is_same_v<T, Half>) return _mm256_cvtph_ps(words);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
  }
}

/// The sum of eight floats.
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline float sum_of(__m256 x) noexcept {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

}  // namespace tenon::cpu_aoti

#endif
