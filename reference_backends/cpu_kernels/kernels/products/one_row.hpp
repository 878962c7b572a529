// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/elements.hpp"
#include "kernels/products/tile.hpp"
#include "kernels/vectors/eight_floats.hpp"
#include "kernels/vectors/vector_level.hpp"

#if defined(__x86_64__)

// Products of one row with columns, for processors with AVX2.
namespace tenon::cpu_aoti {

/// Sixteen floats in the order of `tile_elements`.
struct Pair {
  __m256 first, second;
};

template <class T>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline Pair load(const T* from) noexcept {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i odd = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(words, 16)),
            _mm256_castsi256_ps(_mm256_and_si256(words, odd))};
  } else {
    return {tile_elements(from, 0), tile_elements(from, 1)};
  }
}

/// Adds 16 products to the sum of each lane.
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline void add_product(const float* a, const Pair& b,
                                                                   Pair& sum) noexcept {
  sum.first = _mm256_fmadd_ps(_mm256_loadu_ps(a), b.first, sum.first);
  sum.second = _mm256_fmadd_ps(_mm256_loadu_ps(a + 8), b.second, sum.second);
}

/// Sums of a row with `count` columns, `apart` elements from each other; the sums are `out_apart`
/// from each other.
template <int count, class T>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline void multiply_apart(
    const float* row, const T* column, std::int64_t apart, std::int64_t inner, float* out,
    std::int64_t out_apart) noexcept {
  Pair sums[count];
  TENON_CPU_AOTI_UNROLL
  for (int j = 0; j < count; ++j) sums[j] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  std::int64_t k = 0;
  for (; k + tile_step <= inner; k += tile_step) {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < count; ++j) add_product(row + k, load(column + j * apart + k), sums[j]);
  }
  if (k < inner) {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < count; ++j) {
      const Padded<T> rest(column + j * apart + k, inner - k);
      add_product(row + k, load(rest.at), sums[j]);
    }
  }
  TENON_CPU_AOTI_UNROLL
  for (int j = 0; j < count; ++j) {
    out[j * out_apart] = sum_of(_mm256_add_ps(sums[j].first, sums[j].second));
  }
}

/// `out` [columns] = the row times columns of `inner` elements without gaps, `step` from each
/// other. The row has the order of `tile_elements`, with zeros up to a multiple of `tile_step`.
///
/// For columns that no cache holds: reading them takes all the time. A processor fetches ahead in
/// several pages at once, in each to its end, so four columns that are far from each other are read
/// together. One after the other was read at 0.65 of the rate, and four adjacent ones, which share
/// pages, at half of it.
template <class T>
TENON_CPU_AOTI_AVX2 inline void multiply_one_row(const float* row, const T* columns,
                                                 std::int64_t step, std::int64_t count,
                                                 std::int64_t inner, float* out) noexcept {
  constexpr int streams = 4;
  const std::int64_t each = count / streams;
  for (std::int64_t j = 0; j < each; ++j) {
    multiply_apart<streams>(row, columns + j * step, each * step, inner, out + j, each);
  }
  for (std::int64_t j = each * streams; j < count; ++j) {
    multiply_apart<1>(row, columns + j * step, 0, inner, out + j, 0);
  }
}

}  // namespace tenon::cpu_aoti

#endif
