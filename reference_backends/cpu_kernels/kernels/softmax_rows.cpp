// SPDX-License-Identifier: MIT
// Of the group attention.
#include "kernels/softmax_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/exponential.hpp"
#include "kernels/vectors/eight_floats.hpp"
#include "kernels/vectors/vector_level.hpp"

namespace tenon::cpu_aoti {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
/// exp of less is 0 here, as it is below the smallest normal float.
constexpr float least_exponent = -87.3f;

/// Is subtracted from scores. Where all are masked, any finite number makes their exp 0.
[[gnu::always_inline]] inline float base_of(float most) noexcept {
  return most == minus_infinity ? 0.0f : most;
}

/// exp(x) for x <= 0, to two units in the last place; 0 below the smallest normal float.
[[gnu::always_inline]] inline float exp_of_negative(float x) noexcept {
  return x < least_exponent ? 0.0f : exponential(x);
}

/// Stores the new maximum and sum, and returns the factor for the sums of earlier blocks.
[[gnu::always_inline]] inline float finish(SoftmaxRow<float>& row, float most, float sum) noexcept {
  const float factor = exp_of_negative(row.most - base_of(most));
  row.most = most;
  row.sum = row.sum * factor + sum;
  return factor;
}

/// Loops over `lanes` floats have a known length, so that compilers may vectorise each at any level
/// of optimisation: GCC does for AVX-512, whose instructions can leave numbers out, and not for
/// AVX2.
[[gnu::always_inline]] inline float update(SoftmaxRow<float>& row, float* scores, const float* mask,
                                           std::int64_t count) noexcept {
  constexpr std::size_t lanes = 16;
  const auto size = static_cast<std::size_t>(count);
  const std::size_t whole = size - size % lanes;
  if (mask) {
    std::size_t i = 0;
    for (; i < whole; i += lanes) {
      for (std::size_t j = 0; j < lanes; ++j) scores[i + j] += mask[i + j];
    }
    for (; i < size; ++i) scores[i] += mask[i];
  }
  float best[lanes];
  for (float& value : best) value = row.most;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t j = 0; j < lanes; ++j) {
      best[j] = scores[i + j] > best[j] ? scores[i + j] : best[j];
    }
  }
  float most = row.most;
  for (const float value : best) most = value > most ? value : most;
  for (std::size_t i = whole; i < size; ++i) most = scores[i] > most ? scores[i] : most;
  const float base = base_of(most);
  float sums[lanes] = {};
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t j = 0; j < lanes; ++j) {
      const float value = exp_of_negative(scores[i + j] - base);
      scores[i + j] = value;
      sums[j] += value;
    }
  }
  float sum = 0;
  for (const float value : sums) sum += value;
  for (std::size_t i = whole; i < size; ++i) {
    scores[i] = exp_of_negative(scores[i] - base);
    sum += scores[i];
  }
  return finish(row, most, sum);
}

using Update = float (*)(SoftmaxRow<float>&, float*, const float*, std::int64_t) noexcept;

float update_anywhere(SoftmaxRow<float>& row, float* scores, const float* mask,
                      std::int64_t count) noexcept {
  return update(row, scores, mask, count);
}

#if defined(__x86_64__)
/// `exp_of_negative` of eight floats.
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline __m256 exp_of_negative(__m256 x) noexcept {
  const __m256 least = _mm256_set1_ps(least_exponent);
  // The second operand is returned where one is NaN.
  const __m256 value = exponential(_mm256_max_ps(least, x));
  return _mm256_andnot_ps(_mm256_cmp_ps(x, least, _CMP_LT_OQ), value);
}

TENON_CPU_AOTI_AVX2 float update_avx2(SoftmaxRow<float>& row, float* scores, const float* mask,
                                      std::int64_t count) noexcept {
  constexpr std::int64_t lanes = 8;
  const std::int64_t whole = count - count % lanes;
  // The last ones are among scores that change neither the maximum nor the sum.
  float last[lanes];
  std::fill_n(last, lanes, minus_infinity);
  for (std::int64_t i = whole; i < count; ++i) last[i - whole] = scores[i] + (mask ? mask[i] : 0);
  // A score that is NaN is not the largest: the second operand is returned.
  __m256 best = _mm256_max_ps(_mm256_loadu_ps(last), _mm256_set1_ps(row.most));
  for (std::int64_t i = 0; i < whole; i += lanes) {
    __m256 score = _mm256_loadu_ps(scores + i);
    if (mask) {
      score = _mm256_add_ps(score, _mm256_loadu_ps(mask + i));
      _mm256_storeu_ps(scores + i, score);
    }
    best = _mm256_max_ps(score, best);
  }
  float each[lanes];
  _mm256_storeu_ps(each, best);
  const float most = *std::max_element(each, each + lanes);
  const __m256 base = _mm256_set1_ps(base_of(most));
  const __m256 last_values = exp_of_negative(_mm256_sub_ps(_mm256_loadu_ps(last), base));
  __m256 sum = last_values;
  for (std::int64_t i = 0; i < whole; i += lanes) {
    const __m256 value = exp_of_negative(_mm256_sub_ps(_mm256_loadu_ps(scores + i), base));
    _mm256_storeu_ps(scores + i, value);
    sum = _mm256_add_ps(sum, value);
  }
  _mm256_storeu_ps(last, last_values);
  std::copy_n(last, count - whole, scores + whole);
  return finish(row, most, sum_of(sum));
}

TENON_CPU_AOTI_AVX512 float update_avx512(SoftmaxRow<float>& row, float* scores, const float* mask,
                                          std::int64_t count) noexcept {
  return update(row, scores, mask, count);
}

Update choose() noexcept {
  if (vector_level() >= VectorLevel::avx512) return update_avx512;
  return vector_level() >= VectorLevel::avx2 ? update_avx2 : update_anywhere;
}
#else
Update choose() noexcept { return update_anywhere; }
#endif

}  // namespace

float update_softmax(SoftmaxRow<float>& row, float* scores, const float* mask,
                     std::int64_t count) noexcept {
  static const Update chosen = choose();
  return chosen(row, scores, mask, count);
}

double update_softmax(SoftmaxRow<double>& row, double* scores, const double* mask,
                      std::int64_t count) noexcept {
  double most = row.most;
  for (std::int64_t i = 0; i < count; ++i) {
    if (mask) scores[i] += mask[i];
    if (scores[i] > most) most = scores[i];
  }
  const double base = std::isinf(most) && most < 0 ? 0.0 : most;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    scores[i] = std::exp(scores[i] - base);
    sum += scores[i];
  }
  const double factor = std::exp(row.most - base);
  row.most = most;
  row.sum = row.sum * factor + sum;
  return factor;
}

}  // namespace tenon::cpu_aoti
