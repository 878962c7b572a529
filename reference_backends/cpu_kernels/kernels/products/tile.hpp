// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/elements.hpp"
#include "kernels/vectors/eight_floats.hpp"
#include "kernels/vectors/vector_level.hpp"

#if defined(__x86_64__)

namespace tenon::cpu_aoti {

/// The number of elements that `tile_elements` and `add_tile` read at once, as two vectors of eight
/// floats.
constexpr std::int64_t tile_step = 16;

/// Adjacent elements with zeros behind the last of them.
template <class T, std::int64_t most = tile_step>
struct Padded {
  T at[most] = {};
  Padded(const T* from, std::int64_t count) noexcept {
    std::memcpy(at, from, static_cast<std::size_t>(count) * sizeof(T));
  }
};

/// Vector `part` of two of the 16 elements from `from`, as floats. For BFloat16 one vector has the
/// even elements and the other the odd ones, because that takes one instruction for each. For other
/// types both have the order of the elements.
template <class T>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline __m256 tile_elements(const T* from,
                                                                       int part) noexcept {
  if constexpr (std::is_same_v<T, BFloat16>) {
    __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    // Not by a mask, which would take the register that `add_tile` has for a row of A.
    if (part == 1) words = _mm256_srli_epi32(words, 16);
    return _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
  } else {
    return eight_floats(from + part * 8);
  }
}

/// Puts the two vectors of `tile_elements` into the order of the elements.
template <class T>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline void put_in_order(__m256& first,
                                                                    __m256& second) noexcept {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const __m256 low = _mm256_unpacklo_ps(first, second);
    const __m256 high = _mm256_unpackhi_ps(first, second);
    first = _mm256_permute2f128_ps(low, high, 0x20);
    second = _mm256_permute2f128_ps(low, high, 0x31);
  }
}

/// Rows of A as floats in the order of `tile_elements`, and columns of B without gaps, whose
/// products are added to `sums`, where rows are `sums_step` apart.
template <class T>
struct Tile {
  const float* a;
  std::int64_t a_step;
  const T* b;
  std::int64_t b_step;
  std::int64_t count;  ///< Of a row of A and a column of B; a multiple of `tile_step`.
  float* sums;
  std::int64_t sums_step;
  /// Elements of `num_next` columns, `b_step` apart, that the processor fetches into its caches
  /// meanwhile: as many as `count` of each.
  const T* next = nullptr;
  int num_next = 0;
  std::int64_t sums_apart = 1;  ///< From the sum with a column to that with the next.
};

/// Adds the products of `rows` rows with `columns` columns: an element of B becomes a float once
/// for all rows, and of A each is read once for all columns. Four by three sums are in registers
/// with three vectors of B.
template <int rows, int columns, class T>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline void add_tile(const Tile<T>& tile) noexcept {
  __m256 sums[rows][columns];
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < rows; ++i) {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < columns; ++j) sums[i][j] = _mm256_setzero_ps();
  }
  for (std::int64_t k = 0; k < tile.count; k += tile_step) {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < columns; ++j) {
      if (j < tile.num_next) {
        _mm_prefetch(reinterpret_cast<const char*>(tile.next + j * tile.b_step + k), _MM_HINT_T1);
      }
    }
    TENON_CPU_AOTI_UNROLL
    for (int part = 0; part < 2; ++part) {
      __m256 right[columns];
      TENON_CPU_AOTI_UNROLL
      for (int j = 0; j < columns; ++j) {
        right[j] = tile_elements(tile.b + j * tile.b_step + k, part);
      }
      TENON_CPU_AOTI_UNROLL
      for (int i = 0; i < rows; ++i) {
        const __m256 left = _mm256_loadu_ps(tile.a + i * tile.a_step + k + part * 8);
        TENON_CPU_AOTI_UNROLL
        for (int j = 0; j < columns; ++j) sums[i][j] = _mm256_fmadd_ps(left, right[j], sums[i][j]);
      }
    }
  }
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < rows; ++i) {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < columns; ++j) {
      tile.sums[i * tile.sums_step + j * tile.sums_apart] += sum_of(sums[i][j]);
    }
  }
}

}  // namespace tenon::cpu_aoti

#endif
