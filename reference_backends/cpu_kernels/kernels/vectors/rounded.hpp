// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include "kernels/vectors/vector_level.hpp"
#include "tenon/core/scalar_type.hpp"

#if defined(__x86_64__)

namespace tenon::cpu_aoti {

/// Rounds eight floats to nearest even. T is BFloat16 or Half; NaN becomes a quiet one.
template <class T>
TENON_CPU_AOTI_AVX2 inline __m128i rounded(__m256 x) noexcept {
  if constexpr (std::is_same_v<T, Half>) {
    return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  } else {
    static_assert(std::is_same_v<T, BFloat16>);
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    const __m256i wide =
        _mm256_blendv_epi8(_mm256_srli_epi32(up, 16), _mm256_set1_epi32(0x7fc0), is_nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
  }
}

}  // namespace tenon::cpu_aoti

#endif
