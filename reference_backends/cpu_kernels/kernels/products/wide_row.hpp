// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/elements.hpp"
#include "kernels/gemm.hpp"
#include "kernels/products/in_parts.hpp"
#include "kernels/products/tile.hpp"
#include "kernels/vectors/vector_level.hpp"

#if defined(__x86_64__)

// The product of one row of A, packed, with a B in columns by vectors of 512 bits: the processor
// then has twice as many bytes of B under way.
namespace tenon::cpu_aoti {

inline constexpr std::int64_t wide_block = 32;

/// The place of a packed row of A, or of a row of sums.
[[nodiscard]] constexpr std::int64_t padded(std::int64_t count) noexcept {
  return (count + wide_block - 1) / wide_block * wide_block;
}

template <class T>
[[nodiscard]] bool is_large(const MatrixView& b) noexcept {
  return b.rows * b.cols * static_cast<std::int64_t>(sizeof(T)) >= large_bytes;
}

struct WidePair {
  __m512 first, second;
};

template <class T>
TENON_CPU_AOTI_AVX512 inline WidePair load_wide(const T* from) noexcept {
  const __m512i words = _mm512_loadu_si512(from);
  if constexpr (std::is_same_v<T, Half>) {
    return {_mm512_cvtph_ps(_mm512_castsi512_si256(words)),
            _mm512_cvtph_ps(_mm512_extracti64x4_epi64(words, 1))};
  } else {
    const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(words, 16)),
            _mm512_castsi512_ps(_mm512_and_si512(words, high))};
  }
}

TENON_CPU_AOTI_AVX512 inline void add_product(const float* a, const WidePair& b,
                                              WidePair& sum) noexcept {
  sum.first = _mm512_fmadd_ps(_mm512_loadu_ps(a), b.first, sum.first);
  sum.second = _mm512_fmadd_ps(_mm512_loadu_ps(a + 16), b.second, sum.second);
}

/// Sums of a row of A, packed in the order of `load_wide`, with `cols` columns of B.
template <class T, int cols>
TENON_CPU_AOTI_AVX512 inline void multiply_wide(const float* a, const MatrixView& b,
                                                std::int64_t column, float* sums) noexcept {
  WidePair sum[cols];
  const T* from[cols];
  TENON_CPU_AOTI_UNROLL
  for (int j = 0; j < cols; ++j) {
    from[j] = b.at<const T>(0, column + j);
    sum[j] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  }
  std::int64_t k = 0;
  for (; k + wide_block <= b.rows; k += wide_block) {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < cols; ++j) add_product(a + k, load_wide(from[j] + k), sum[j]);
  }
  TENON_CPU_AOTI_UNROLL
  for (int j = 0; j < cols; ++j) {
    if (k < b.rows) {
      const Padded<T, wide_block> rest(from[j] + k, b.rows - k);
      add_product(a + k, load_wide(rest.at), sum[j]);
    }
    sums[column + j] = _mm512_reduce_add_ps(_mm512_add_ps(sum[j].first, sum[j].second));
  }
}

/// The only row of A as floats, in the order of `load_wide`, with zeros behind the last.
template <class T>
TENON_CPU_AOTI_AVX512 inline void pack_wide_row(const MatrixView& a, float* to) noexcept {
  for (std::int64_t k = 0; k < a.cols; k += wide_block) {
    T elements[wide_block] = {};
    const std::int64_t count = std::min(wide_block, a.cols - k);
    for (std::int64_t i = 0; i < count; ++i) elements[i] = *a.at<T>(0, k + i);
    const WidePair pair = load_wide(elements);
    _mm512_storeu_ps(to + k, pair.first);
    _mm512_storeu_ps(to + k + 16, pair.second);
  }
}

/// The only row of A as it is, with zeros behind the last.
inline void pack_bfloat16_row(const MatrixView& a, BFloat16* to) noexcept {
  for (std::int64_t k = 0; k < a.cols; ++k) to[k] = *a.at<BFloat16>(0, k);
  std::fill(to + a.cols, to + padded(a.cols), BFloat16{});
}

TENON_CPU_AOTI_BFLOAT16 [[gnu::always_inline]] inline __m512bh load_bfloat16(
    const BFloat16* from) noexcept {
  __m512bh out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

/// The sum of a packed row of BFloat16 with one column, by the instruction for it: of half the
/// loads, as nothing becomes floats. It takes numbers below the smallest normal one as 0, which
/// oneDNN's products do, too.
TENON_CPU_AOTI_BFLOAT16 [[gnu::always_inline]] inline float multiply_bfloat16_column(
    const BFloat16* a, const BFloat16* from, std::int64_t count) noexcept {
  constexpr int steps = 4;
  __m512 sum[steps];
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < steps; ++i) sum[i] = _mm512_setzero_ps();
  std::int64_t k = 0;
  for (; k + steps * wide_block <= count; k += steps * wide_block) {
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < steps; ++i) {
      const std::int64_t at = k + i * wide_block;
      sum[i] = _mm512_dpbf16_ps(sum[i], load_bfloat16(a + at), load_bfloat16(from + at));
    }
  }
  for (; k + wide_block <= count; k += wide_block) {
    sum[0] = _mm512_dpbf16_ps(sum[0], load_bfloat16(a + k), load_bfloat16(from + k));
  }
  if (k < count) {
    const Padded<BFloat16, wide_block> rest(from + k, count - k);
    sum[1] = _mm512_dpbf16_ps(sum[1], load_bfloat16(a + k), load_bfloat16(rest.at));
  }
  return _mm512_reduce_add_ps(
      _mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3])));
}

TENON_CPU_AOTI_BFLOAT16 inline void multiply_bfloat16_row(const MatrixView& b,
                                                          const BFloat16* packed,
                                                          float* sums) noexcept {
  for (std::int64_t column = 0; column < b.cols; ++column) {
    sums[column] = multiply_bfloat16_column(packed, b.at<const BFloat16>(0, column), b.rows);
  }
}

/// The sum of a packed row with one column, which is read in order: the processor then fetches it
/// ahead from memory, with several adjacent columns at once poorly.
template <class T>
TENON_CPU_AOTI_AVX512 inline float multiply_wide_column(const float* a, const T* from,
                                                        std::int64_t count) noexcept {
  constexpr int steps = 4;  // Independent sums hide the latency of an addition.
  WidePair sum[steps];
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < steps; ++i) sum[i] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  std::int64_t k = 0;
  for (; k + steps * wide_block <= count; k += steps * wide_block) {
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < steps; ++i) {
      const std::int64_t at = k + i * wide_block;
      add_product(a + at, load_wide(from + at), sum[i]);
    }
  }
  for (; k + wide_block <= count; k += wide_block) {
    add_product(a + k, load_wide(from + k), sum[0]);
  }
  if (k < count) {
    const Padded<T, wide_block> rest(from + k, count - k);
    add_product(a + k, load_wide(rest.at), sum[1]);
  }
  __m512 total = _mm512_setzero_ps();
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < steps; ++i) {
    total = _mm512_add_ps(total, _mm512_add_ps(sum[i].first, sum[i].second));
  }
  return _mm512_reduce_add_ps(total);
}

template <class T>
TENON_CPU_AOTI_AVX512 inline void multiply_row(const MatrixView& b, const float* packed,
                                               float* sums) noexcept {
  std::int64_t column = 0;
  if (is_large<T>(b)) {
    for (; column < b.cols; ++column) {
      sums[column] = multiply_wide_column(packed, b.at<const T>(0, column), b.rows);
    }
    return;
  }
  for (; column + 4 <= b.cols; column += 4) multiply_wide<T, 4>(packed, b, column, sums);
  for (; column < b.cols; ++column) multiply_wide<T, 1>(packed, b, column, sums);
}

}  // namespace tenon::cpu_aoti

#endif
