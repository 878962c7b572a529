// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/exponential.hpp"

/// Loops that compilers make vector instructions of, and functions that such loops can call.
namespace graph_backend::kernels {

#if defined(__GNUC__)
#define GRAPH_BACKEND_INLINE __attribute__((always_inline))
#else
#define GRAPH_BACKEND_INLINE
#endif

#if defined(__x86_64__) && defined(__GNUC__)
template <class Loop>
TENON_CPU_AOTI_AVX2 void with_avx2(const Loop& loop) {
  loop();
}
#endif

/// Calls `loop()` in code for AVX2 where the processor has it. `loop` is GRAPH_BACKEND_INLINE.
template <class Loop>
void with_vectors(const Loop& loop) {
#if defined(__x86_64__) && defined(__GNUC__)
  using tenon::cpu_aoti::VectorLevel;
  if (tenon::cpu_aoti::vector_level() >= VectorLevel::avx2) return with_avx2(loop);
#endif
  loop();
}

/// `exponential` takes no larger numbers, of either sign.
inline constexpr float exponent_limit = 87.3F;

GRAPH_BACKEND_INLINE inline float limit(float x) noexcept {
  const float raised = x < -exponent_limit ? -exponent_limit : x;
  return raised > exponent_limit ? exponent_limit : raised;
}

/// exp(x) of any x: what is above the limit is another factor.
GRAPH_BACKEND_INLINE inline float exp_of(float x) noexcept {
  using tenon::cpu_aoti::exponential;
  const float most = limit(x);
  const float rest = std::abs(x) > exponent_limit ? limit(x - most) : 0.0F;
  return exponential(most) * exponential(rest);
}

/// exp(x) of x <= 0; 0 below the smallest normal number.
GRAPH_BACKEND_INLINE inline float exp_of_negative(float x) noexcept {
  const float value = tenon::cpu_aoti::exponential(limit(x));
  return x < -exponent_limit ? 0.0F : value;
}

GRAPH_BACKEND_INLINE inline float sigmoid(float x) noexcept {
  const float value = 1.0F / (1.0F + tenon::cpu_aoti::exponential(limit(-x)));
  return x < -exponent_limit ? 0.0F : value;
}

/// By a polynomial for small x, where the quotient would cancel.
GRAPH_BACKEND_INLINE inline float tanh_of(float x) noexcept {
  constexpr float polynomial[] = {-5.691986e-3F, 2.0626292e-2F, -5.373532e-2F, 1.3331382e-1F,
                                  -3.333328e-1F};
  const float size = std::abs(x);
  const float square = x * x;
  float p = polynomial[0];
  for (int i = 1; i < 5; ++i) p = p * square + polynomial[i];
  const float small = x + x * square * p;
  const float large = 1.0F - 2.0F / (tenon::cpu_aoti::exponential(limit(2.0F * size)) + 1.0F);
  return size < 0.625F ? small : std::copysign(large, x);
}

/// To 1.5e-7 (Abramowitz and Stegun, 7.1.26). As in PyTorch, it is NaN of infinities.
GRAPH_BACKEND_INLINE inline float erf_of(float x) noexcept {
  constexpr float polynomial[] = {1.061405429F, -1.453152027F, 1.421413741F, -0.284496736F,
                                  0.254829592F};
  const float size = std::abs(x);
  const float t = 1.0F / (1.0F + 0.3275911F * size);
  float p = polynomial[0];
  for (int i = 1; i < 5; ++i) p = p * t + polynomial[i];
  const float rest = p * t * exp_of_negative(-x * x) + (x - x);
  return std::copysign(1.0F - rest, x);
}

}  // namespace graph_backend::kernels
