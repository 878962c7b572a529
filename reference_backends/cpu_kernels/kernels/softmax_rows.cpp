// SPDX-License-Identifier: MIT
#include "kernels/softmax_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/exponential.hpp"
#include "kernels/vectors/sum_of.hpp"
#include "kernels/vectors/vector_level.hpp"

namespace tenon::cpu_aoti {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
/// exp of less is 0 here, as it is below the smallest normal float.
constexpr float least_exponent = -87.3f;

/// Is subtracted from scores. Where all are masked, any finite number makes their exp 0.
float base_of(float most) noexcept { return most == minus_infinity ? 0.0f : most; }

/// exp(x) for x <= 0, to two units in the last place; 0 below the smallest normal float.
float exp_of_negative(float x) noexcept { return x < least_exponent ? 0.0f : exponential(x); }

/// Stores the new maximum and sum, and returns the factor for the sums of earlier blocks.
float finish(SoftmaxRow<float>& row, float most, float sum) noexcept {
  const float factor = exp_of_negative(row.most - base_of(most));
  row.most = most;
  row.sum = row.sum * factor + sum;
  return factor;
}

float update_anywhere(SoftmaxRow<float>& row, float* scores, const float* mask,
                      std::int64_t count) noexcept {
  float most = row.most;
  for (std::int64_t i = 0; i < count; ++i) {
    if (mask) scores[i] += mask[i];
    if (scores[i] > most) most = scores[i];
  }
  const float base = base_of(most);
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    scores[i] = exp_of_negative(scores[i] - base);
    sum += scores[i];
  }
  return finish(row, most, sum);
}

#if defined(__x86_64__)
constexpr std::int64_t lanes = 8;

/// The same for eight floats.
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline __m256 exp_of_negative(__m256 x) noexcept {
  const __m256 least = _mm256_set1_ps(least_exponent);
  // The second operand is returned where one is NaN.
  const __m256 value = exponential(_mm256_max_ps(least, x));
  return _mm256_andnot_ps(_mm256_cmp_ps(x, least, _CMP_LT_OQ), value);
}

/// In intrinsics: compilers keep the order of additions and comparisons of floats, and so vectorise
/// none of these loops.
TENON_CPU_AOTI_AVX2 float update_avx2(SoftmaxRow<float>& row, float* scores, const float* mask,
                                      std::int64_t count) noexcept {
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
#endif

}  // namespace

float update_softmax(SoftmaxRow<float>& row, float* scores, const float* mask,
                     std::int64_t count) noexcept {
#if defined(__x86_64__)
  static const bool has_avx2 = vector_level() >= VectorLevel::avx2;
  if (has_avx2) return update_avx2(row, scores, mask, count);
#endif
  return update_anywhere(row, scores, mask, count);
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
