// SPDX-License-Identifier: MIT
#include "kernels/quantized/dot_products.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/products/in_parts.hpp"

namespace tenon::cpu_aoti {
namespace {

template <class A>
[[gnu::always_inline]] inline void by_loops(const DotProducts& p, std::int64_t begin,
                                            std::int64_t end) noexcept {
  for (std::int64_t i = 0; i < p.rows; ++i) {
    const A* const row = static_cast<const A*>(p.a) + i * p.a_stride;
    for (std::int64_t j = begin; j < end; ++j) {
      const std::int8_t* const column = p.b + j * p.b_stride;
      std::uint32_t sum = 0;
      for (std::int64_t k = 0; k < p.inner; ++k) {
        sum += static_cast<std::uint32_t>(row[k] * column[k]);
      }
      p.out[i * p.row_stride + j * p.column_stride] = sum;
    }
  }
}

[[gnu::always_inline]] inline void by_loops(const DotProducts& p, std::int64_t begin,
                                            std::int64_t end) noexcept {
  if (p.a_is_byte) {
    by_loops<std::uint8_t>(p, begin, end);
  } else {
    by_loops<std::int8_t>(p, begin, end);
  }
}

void multiply_anywhere(const DotProducts& p, std::int64_t begin, std::int64_t end) noexcept {
  by_loops(p, begin, end);
}

#if defined(__x86_64__)

/// Sums of 16 products of adjacent pairs; 16 bits hold every 8-bit number, so they are exact.
template <bool a_is_byte>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline __m256i add_products_avx2(
    __m256i sum, const std::uint8_t* a, const std::int8_t* b) noexcept {
  const __m128i left = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
  const __m128i right = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
  const __m256i wide = a_is_byte ? _mm256_cvtepu8_epi16(left) : _mm256_cvtepi8_epi16(left);
  return _mm256_add_epi32(sum, _mm256_madd_epi16(wide, _mm256_cvtepi8_epi16(right)));
}

TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline std::uint32_t sum_of(__m256i parts) noexcept {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(parts), _mm256_extracti128_si256(parts, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(sum));
}

template <bool a_is_byte>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline void multiply_avx2(const DotProducts& p,
                                                                     std::int64_t begin,
                                                                     std::int64_t end) noexcept {
  constexpr std::int64_t lanes = 16;
  const auto* const a = static_cast<const std::uint8_t*>(p.a);
  for (std::int64_t j = begin; j < end; ++j) {
    const std::int8_t* const column = p.b + j * p.b_stride;
    for (std::int64_t i = 0; i < p.rows; ++i) {
      const std::uint8_t* const row = a + i * p.a_stride;
      __m256i even = _mm256_setzero_si256();
      __m256i odd = _mm256_setzero_si256();
      std::int64_t k = 0;
      for (; k + 2 * lanes <= p.inner; k += 2 * lanes) {
        even = add_products_avx2<a_is_byte>(even, row + k, column + k);
        odd = add_products_avx2<a_is_byte>(odd, row + k + lanes, column + k + lanes);
      }
      std::uint32_t sum = sum_of(_mm256_add_epi32(even, odd));
      for (; k < p.inner; ++k) {
        const int left = a_is_byte ? int{row[k]} : int{static_cast<std::int8_t>(row[k])};
        sum += static_cast<std::uint32_t>(left * column[k]);
      }
      p.out[i * p.row_stride + j * p.column_stride] = sum;
    }
  }
}

TENON_CPU_AOTI_AVX2 void multiply_bytes_avx2(const DotProducts& p, std::int64_t begin,
                                             std::int64_t end) noexcept {
  multiply_avx2<true>(p, begin, end);
}

TENON_CPU_AOTI_AVX2 void multiply_chars_avx2(const DotProducts& p, std::int64_t begin,
                                             std::int64_t end) noexcept {
  multiply_avx2<false>(p, begin, end);
}

constexpr int block_columns = 4;

/// The sum of each of four vectors.
TENON_CPU_AOTI_VNNI [[gnu::always_inline]] inline __m128i sums_of(
    const __m512i (&parts)[block_columns]) noexcept {
  const __m512i low = _mm512_add_epi32(_mm512_unpacklo_epi32(parts[0], parts[1]),
                                       _mm512_unpackhi_epi32(parts[0], parts[1]));
  const __m512i high = _mm512_add_epi32(_mm512_unpacklo_epi32(parts[2], parts[3]),
                                        _mm512_unpackhi_epi32(parts[2], parts[3]));
  const __m512i four =
      _mm512_add_epi32(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
  const __m256i two =
      _mm256_add_epi32(_mm512_castsi512_si256(four), _mm512_extracti64x4_epi64(four, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
}

/// 128 in each byte. The instruction multiplies numbers without sign by numbers with one. So where
/// `a` has a sign, 128 is added to `b`, and 128 times the sum of the row of `a` is subtracted from
/// the result.
TENON_CPU_AOTI_VNNI [[gnu::always_inline]] inline __m512i bias() noexcept {
  return _mm512_set1_epi8(-128);
}

/// The first `count` of 64 bytes, at least one.
[[nodiscard]] constexpr __mmask64 first_bytes(std::int64_t count) noexcept {
  return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

/// The number that is subtracted from each result of `rows` rows from `row`.
template <int rows, bool a_is_byte>
struct Excess {
  std::uint32_t of_row[rows] = {};

  TENON_CPU_AOTI_VNNI
  [[gnu::always_inline]] inline Excess(const DotProducts& p, std::int64_t row) noexcept {
    if constexpr (a_is_byte) return;
    for (int i = 0; i < rows; ++i) {
      const auto* const from = static_cast<const std::uint8_t*>(p.a) + (row + i) * p.a_stride;
      __m512i sum = _mm512_setzero_si512();
      for (std::int64_t k = 0; k < p.inner; k += 64) {
        const __m512i left = _mm512_maskz_loadu_epi8(first_bytes(p.inner - k), from + k);
        sum = _mm512_dpbusd_epi32(sum, bias(), left);
      }
      of_row[i] = static_cast<std::uint32_t>(_mm512_reduce_add_epi32(sum));
    }
  }
};

template <bool a_is_byte>
TENON_CPU_AOTI_VNNI [[gnu::always_inline]] inline __m512i add_products_vnni(
    __m512i sum, __m512i left, __m512i right) noexcept {
  return a_is_byte ? _mm512_dpbusd_epi32(sum, left, right) : _mm512_dpbusd_epi32(sum, right, left);
}

/// Adds the products that `mask` chooses of 64, from place `k` on, to each sum of a block.
template <int rows, bool a_is_byte>
TENON_CPU_AOTI_VNNI [[gnu::always_inline]] inline void add_products_vnni(
    const std::uint8_t* a, std::int64_t a_stride, const std::int8_t* const (&b)[block_columns],
    std::int64_t k, __mmask64 mask, __m512i (&sums)[rows][block_columns]) noexcept {
  __m512i right[block_columns];
  TENON_CPU_AOTI_UNROLL
  for (int j = 0; j < block_columns; ++j) {
    right[j] = _mm512_maskz_loadu_epi8(mask, b[j] + k);
    if constexpr (!a_is_byte) right[j] = _mm512_xor_si512(right[j], bias());
  }
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < rows; ++i) {
    const __m512i left = _mm512_maskz_loadu_epi8(mask, a + i * a_stride + k);
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < block_columns; ++j) {
      sums[i][j] = add_products_vnni<a_is_byte>(sums[i][j], left, right[j]);
    }
  }
}

/// A block of the result, `rows` by `columns`, of which there are at most four.
template <int rows, bool a_is_byte>
TENON_CPU_AOTI_VNNI [[gnu::always_inline]] inline void multiply_block(
    const DotProducts& p, const Excess<rows, a_is_byte>& excess, std::int64_t row,
    std::int64_t column, int columns) noexcept {
  constexpr std::int64_t lanes = 64;
  const auto* const a = static_cast<const std::uint8_t*>(p.a) + row * p.a_stride;
  const std::int8_t* b[block_columns];
  __m512i sums[rows][block_columns];
  TENON_CPU_AOTI_UNROLL
  for (int j = 0; j < block_columns; ++j) {
    b[j] = p.b + (column + std::min(j, columns - 1)) * p.b_stride;
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < rows; ++i) sums[i][j] = _mm512_setzero_si512();
  }
  std::int64_t k = 0;
  for (; k + lanes <= p.inner; k += lanes) {
    add_products_vnni<rows, a_is_byte>(a, p.a_stride, b, k, ~__mmask64{0}, sums);
  }
  if (k < p.inner) {
    add_products_vnni<rows, a_is_byte>(a, p.a_stride, b, k, first_bytes(p.inner - k), sums);
  }
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < rows; ++i) {
    const __m128i four = _mm_sub_epi32(sums_of(sums[i]),
                                       _mm_set1_epi32(static_cast<std::int32_t>(excess.of_row[i])));
    std::uint32_t* const to = p.out + (row + i) * p.row_stride + column * p.column_stride;
    if (columns == block_columns && p.column_stride == 1) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), four);
    } else {
      std::uint32_t values[block_columns];
      _mm_storeu_si128(reinterpret_cast<__m128i*>(values), four);
      for (int j = 0; j < columns; ++j) to[j * p.column_stride] = values[j];
    }
  }
}

template <bool a_is_byte>
TENON_CPU_AOTI_VNNI [[gnu::always_inline]] inline void multiply_blocks(const DotProducts& p,
                                                                       std::int64_t begin,
                                                                       std::int64_t end) noexcept {
  // Columns of a panel stay in the second-level cache for all rows.
  constexpr std::int64_t panel_bytes = 1 << 18;
  const std::int64_t panel = std::max<std::int64_t>(
      panel_bytes / std::max<std::int64_t>(p.inner, 1) / block_columns * block_columns,
      block_columns);
  for (std::int64_t first = begin; first < end; first += panel) {
    const std::int64_t last = std::min(first + panel, end);
    const auto columns_from = [&](std::int64_t j) {
      return static_cast<int>(std::min<std::int64_t>(last - j, block_columns));
    };
    std::int64_t i = 0;
    for (; i + 4 <= p.rows; i += 4) {
      const Excess<4, a_is_byte> excess(p, i);
      for (std::int64_t j = first; j < last; j += block_columns) {
        multiply_block(p, excess, i, j, columns_from(j));
      }
    }
    for (; i < p.rows; ++i) {
      const Excess<1, a_is_byte> excess(p, i);
      for (std::int64_t j = first; j < last; j += block_columns) {
        multiply_block(p, excess, i, j, columns_from(j));
      }
    }
  }
}

/// The next four bytes, of which `rest` exist. No call for the last ones: it would move all vectors
/// out of their registers.
[[gnu::always_inline]] inline std::int32_t load_four(const std::uint8_t* from,
                                                     std::int64_t rest) noexcept {
  std::int32_t four = 0;
  if (rest >= 4) {
    std::memcpy(&four, from, 4);
    return four;
  }
  if (rest > 2) four = from[2] << 16;
  if (rest > 1) four |= from[1] << 8;
  return four | from[0];
}

/// Adjacent columns, at most 64, of `rows` rows of the result, for a `b` in rows: four rows of it
/// are interleaved, so that each 32-bit lane has four numbers of one column.
template <int rows, bool a_is_byte>
TENON_CPU_AOTI_VNNI [[gnu::always_inline]] inline void multiply_strip(
    const DotProducts& p, std::int64_t row, std::int64_t column, std::int64_t columns) noexcept {
  constexpr int quarters = 4;
  const auto* const a = static_cast<const std::uint8_t*>(p.a) + row * p.a_stride;
  const __mmask64 wanted = first_bytes(columns);
  const Excess<rows, a_is_byte> excess(p, row);
  __m512i sums[rows][quarters];
  TENON_CPU_AOTI_UNROLL
  for (int j = 0; j < quarters; ++j) {
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < rows; ++i) sums[i][j] = _mm512_setzero_si512();
  }
  for (std::int64_t k = 0; k < p.inner; k += 4) {
    const std::int64_t rest = p.inner - k;
    __m512i line[4];
    TENON_CPU_AOTI_UNROLL
    for (int n = 0; n < 4; ++n) {
      const std::int64_t at = k + (n < rest ? n : 0);
      line[n] = _mm512_maskz_loadu_epi8(n < rest ? wanted : 0, p.b + at * p.b_stride + column);
    }
    const __m512i low[2] = {_mm512_unpacklo_epi8(line[0], line[1]),
                            _mm512_unpacklo_epi8(line[2], line[3])};
    const __m512i high[2] = {_mm512_unpackhi_epi8(line[0], line[1]),
                             _mm512_unpackhi_epi8(line[2], line[3])};
    __m512i right[quarters] = {
        _mm512_unpacklo_epi16(low[0], low[1]), _mm512_unpackhi_epi16(low[0], low[1]),
        _mm512_unpacklo_epi16(high[0], high[1]), _mm512_unpackhi_epi16(high[0], high[1])};
    if constexpr (!a_is_byte) {
      TENON_CPU_AOTI_UNROLL
      for (int j = 0; j < quarters; ++j) right[j] = _mm512_xor_si512(right[j], bias());
    }
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < rows; ++i) {
      const __m512i left = _mm512_set1_epi32(load_four(a + i * p.a_stride + k, rest));
      TENON_CPU_AOTI_UNROLL
      for (int j = 0; j < quarters; ++j) {
        sums[i][j] = add_products_vnni<a_is_byte>(sums[i][j], left, right[j]);
      }
    }
  }
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < rows; ++i) {
    // Lane n of quarter j has the columns 16 n + 4 j to 16 n + 4 j + 3.
    std::uint32_t values[64];
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < quarters; ++j) {
      const __m512i sum = _mm512_sub_epi32(
          sums[i][j], _mm512_set1_epi32(static_cast<std::int32_t>(excess.of_row[i])));
      auto* const to = reinterpret_cast<__m128i*>(values + 4 * j);
      _mm_storeu_si128(to, _mm512_castsi512_si128(sum));
      _mm_storeu_si128(to + 4, _mm512_extracti32x4_epi32(sum, 1));
      _mm_storeu_si128(to + 8, _mm512_extracti32x4_epi32(sum, 2));
      _mm_storeu_si128(to + 12, _mm512_extracti32x4_epi32(sum, 3));
    }
    std::uint32_t* const to = p.out + (row + i) * p.row_stride + column * p.column_stride;
    for (std::int64_t j = 0; j < columns; ++j) to[j * p.column_stride] = values[j];
  }
}

template <bool a_is_byte>
TENON_CPU_AOTI_VNNI [[gnu::always_inline]] inline void multiply_strips(const DotProducts& p,
                                                                       std::int64_t begin,
                                                                       std::int64_t end) noexcept {
  for (std::int64_t j = begin; j < end; j += 64) {
    const std::int64_t columns = std::min<std::int64_t>(end - j, 64);
    std::int64_t i = 0;
    for (; i + 4 <= p.rows; i += 4) multiply_strip<4, a_is_byte>(p, i, j, columns);
    for (; i < p.rows; ++i) multiply_strip<1, a_is_byte>(p, i, j, columns);
  }
}

TENON_CPU_AOTI_VNNI void multiply_bytes_vnni(const DotProducts& p, std::int64_t begin,
                                             std::int64_t end) noexcept {
  p.b_in_rows ? multiply_strips<true>(p, begin, end) : multiply_blocks<true>(p, begin, end);
}

TENON_CPU_AOTI_VNNI void multiply_chars_vnni(const DotProducts& p, std::int64_t begin,
                                             std::int64_t end) noexcept {
  p.b_in_rows ? multiply_strips<false>(p, begin, end) : multiply_blocks<false>(p, begin, end);
}

#endif

using Multiply = void (*)(const DotProducts&, std::int64_t, std::int64_t) noexcept;

Multiply choose([[maybe_unused]] bool a_is_byte, [[maybe_unused]] VectorLevel level) noexcept {
#if defined(__x86_64__)
  if (level >= VectorLevel::vnni) return a_is_byte ? multiply_bytes_vnni : multiply_chars_vnni;
  if (level >= VectorLevel::avx2) return a_is_byte ? multiply_bytes_avx2 : multiply_chars_avx2;
#endif
  return multiply_anywhere;
}

}  // namespace

void multiply(const DotProducts& product, VectorLevel level) noexcept {
  const Multiply chosen = choose(product.a_is_byte, level);
  in_parts(product.columns, 64, bytes_read(product.columns * product.inner, product.rows),
           [&](std::int64_t begin, std::int64_t end) { chosen(product, begin, end); });
}

}  // namespace tenon::cpu_aoti
