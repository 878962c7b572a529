// SPDX-License-Identifier: MIT
#include "kernels/softmax_rows.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/exponential.hpp"
#include "kernels/vectors/vector_level.hpp"

namespace tenon::cpu_aoti {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

// Loops over `lanes` floats have a known length, so that compilers vectorise each at any level of
// optimisation. The bodies are inlined into functions for three kinds of processors.
constexpr std::size_t lanes = 16;

/// exp(x) for x <= 0, to two units in the last place; 0 below the smallest normal float.
[[gnu::always_inline]] inline float exp_of_negative(float x) noexcept {
  return x < -87.3f ? 0.0f : exponential(x);
}

[[gnu::always_inline]] inline float update(SoftmaxRow<float>& row, float* scores, const float* mask,
                                           std::int64_t count) noexcept {
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
  // All scores are masked: any finite number instead of the maximum makes their exp 0.
  const float base = most == minus_infinity ? 0.0f : most;
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
  const float factor = exp_of_negative(row.most - base);
  row.most = most;
  row.sum = row.sum * factor + sum;
  return factor;
}

using Update = float (*)(SoftmaxRow<float>&, float*, const float*, std::int64_t) noexcept;

float update_anywhere(SoftmaxRow<float>& row, float* scores, const float* mask,
                      std::int64_t count) noexcept {
  return update(row, scores, mask, count);
}

#if defined(__x86_64__)
TENON_CPU_AOTI_AVX2 float update_avx2(SoftmaxRow<float>& row, float* scores, const float* mask,
                                      std::int64_t count) noexcept {
  return update(row, scores, mask, count);
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
