// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/vectors/vector_level.hpp"

#if defined(__x86_64__)

namespace tenon::cpu_aoti {

/// The sum of eight floats.
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline float sum_of(__m256 x) noexcept {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

}  // namespace tenon::cpu_aoti

#endif
