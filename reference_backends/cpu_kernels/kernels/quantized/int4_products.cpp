// SPDX-License-Identifier: MIT
#include <cstdint>

#include "kernels/elements.hpp"
#include "kernels/products/column_tile.hpp"
#include "kernels/products/in_parts.hpp"
#include "kernels/quantized/int4_avx2.hpp"
#include "kernels/quantized/int4_store.hpp"
#include "kernels/quantized/weight_products.hpp"
#include "strided.hpp"

namespace tenon::cpu_aoti {
namespace {

/// Columns [column, column + 2 * half) of the result. `pairs` says which two columns a byte has.
/// Within a group the numbers q - 8 are summed without scale and zero, which the end of the group
/// applies.
template <int half, class T>
[[gnu::always_inline]] inline void multiply_block(const Int4Weights& w, const float* x,
                                                  const float* group_sums, std::int64_t rows,
                                                  float* out, std::int64_t column,
                                                  bool pairs) noexcept {
  const std::uint8_t* const block = w.data + column * (w.inner / 2);
  const std::int64_t groups = w.inner / w.group;
  for (std::int64_t i = 0; i < rows; ++i) {
    float total[2 * half] = {};
    for (std::int64_t g = 0; g < groups; ++g) {
      float low[half] = {};
      float high[half] = {};
      for (std::int64_t k = g * w.group; k < (g + 1) * w.group; ++k) {
        const std::uint8_t* const bytes = block + k * half;
        const float factor = x[i * w.inner + k];
        for (int d = 0; d < half; ++d) low[d] += factor * static_cast<float>((bytes[d] & 15) - 8);
        for (int d = 0; d < half; ++d) high[d] += factor * static_cast<float>((bytes[d] >> 4) - 8);
      }
      const T* const scales = static_cast<const T*>(w.scales) + (g * w.columns + column) * 2;
      const float sum = group_sums[i * groups + g];
      for (int n = 0; n < 2 * half; ++n) {
        const bool is_low = pairs ? n % 2 == 0 : n < half;
        const int d = pairs ? n / 2 : n % half;
        total[n] +=
            (is_low ? low : high)[d] * widen(scales[2 * n]) + sum * widen(scales[2 * n + 1]);
      }
    }
    store_row<half, T>(w, x + i * w.inner, total, out + i * w.columns, column, pairs);
  }
}

/// A last block that is not full, of 16, 32 or 48 columns, in pairs.
template <class T>
[[gnu::always_inline]] inline void multiply_last(const Int4Weights& w, const float* x,
                                                 const float* group_sums, std::int64_t rows,
                                                 float* out, std::int64_t column) noexcept {
  switch (w.columns - column) {
    case 16:
      return multiply_block<8, T>(w, x, group_sums, rows, out, column, true);
    case 32:
      return multiply_block<16, T>(w, x, group_sums, rows, out, column, true);
    default:
      return multiply_block<24, T>(w, x, group_sums, rows, out, column, true);
  }
}

/// The columns from `begin`, which a block begins with, to `end`.
template <class T>
[[gnu::always_inline]] inline void multiply_columns(const Int4Weights& w, const float* x,
                                                    const float* group_sums, std::int64_t rows,
                                                    float* out, Int4Layout layout,
                                                    std::int64_t begin, std::int64_t end) noexcept {
  const std::int64_t block = layout == Int4Layout::halves64 ? 64 : 32;
  std::int64_t j = begin;
  for (; j + block <= end; j += block) {
    if (layout == Int4Layout::halves64) {
      multiply_block<32, T>(w, x, group_sums, rows, out, j, false);
    } else {
      multiply_block<16, T>(w, x, group_sums, rows, out, j, layout == Int4Layout::pairs32);
    }
  }
  if (j < end) multiply_last<T>(w, x, group_sums, rows, out, j);
}

template <class T>
void multiply_anywhere(const Int4Weights& w, const float* x, const float* group_sums,
                       std::int64_t rows, float* out, Int4Layout layout, std::int64_t begin,
                       std::int64_t end) noexcept {
  multiply_columns<T>(w, x, group_sums, rows, out, layout, begin, end);
}

#if defined(__x86_64__)

template <class T>
TENON_CPU_AOTI_AVX2 void multiply_avx2(const Int4Weights& w, const float* x,
                                       const float* group_sums, std::int64_t rows, float* out,
                                       Int4Layout layout, std::int64_t begin,
                                       std::int64_t end) noexcept {
  if (layout != Int4Layout::halves32) {
    return multiply_columns<T>(w, x, group_sums, rows, out, layout, begin, end);
  }
  const std::int64_t groups = w.inner / w.group;
  const std::int64_t last = begin + (end - begin) / 32 * 32;
  if (rows >= least_tiled_rows) {
    multiply_by_tiles(Int4Tiles<T>(w), TiledRows{x, w.inner, rows, w.inner, out, w.columns}, begin,
                      last);
  }
  for (std::int64_t column = begin; rows < least_tiled_rows && column < last; column += 32) {
    std::int64_t i = 0;
    const auto multiply_rows = [&](std::int64_t count, auto* multiply) {
      multiply(w, x + i * w.inner, group_sums + i * groups, out + i * w.columns, column,
               i == 0 && column + 32 < last);
      i += count;
    };
    while (rows - i >= 6) multiply_rows(6, multiply_int4_block<6, 2, T>);
    if (rows - i == 3 || rows - i == 5) multiply_rows(3, multiply_int4_block<3, 4, T>);
    while (rows - i >= 2) multiply_rows(2, multiply_int4_block<2, 4, T>);
    if (i < rows) {
      multiply_int4_row<T>(w, x + i * w.inner, group_sums + i * groups, out + i * w.columns,
                           column);
    }
  }
  if (last < end) multiply_last<T>(w, x, group_sums, rows, out, last);
}

/// Scales and zeros of 16 columns.
struct ScaleAndZero {
  __m512 scale, zero;
};

TENON_CPU_AOTI_AVX512 [[gnu::always_inline]] inline ScaleAndZero separate(__m512 low,
                                                                          __m512 high) noexcept {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
  return {_mm512_permutex2var_ps(low, even, high), _mm512_permutex2var_ps(low, odd, high)};
}

TENON_CPU_AOTI_AVX512 [[gnu::always_inline]] inline ScaleAndZero load_scales(
    const float* from) noexcept {
  return separate(_mm512_loadu_ps(from), _mm512_loadu_ps(from + 16));
}

TENON_CPU_AOTI_AVX512 [[gnu::always_inline]] inline ScaleAndZero load_scales(
    const Half* from) noexcept {
  const auto* const halves = reinterpret_cast<const __m256i*>(from);
  return separate(_mm512_cvtph_ps(_mm256_loadu_si256(halves)),
                  _mm512_cvtph_ps(_mm256_loadu_si256(halves + 1)));
}

TENON_CPU_AOTI_AVX512 [[gnu::always_inline]] inline ScaleAndZero load_scales(
    const BFloat16* from) noexcept {
  // A bfloat16 is the upper half of a float, and the scale comes first.
  const __m512i both = _mm512_loadu_si512(from);
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(both, 16)),
          _mm512_castsi512_ps(_mm512_and_si512(both, upper))};
}

/// Whether a sum is infinite or NaN.
TENON_CPU_AOTI_AVX512 [[gnu::always_inline]] inline bool is_special(
    const __m512 (&sums)[4]) noexcept {
  constexpr int infinite_or_nan = 0x99;
  const int low = _mm512_fpclass_ps_mask(sums[0], infinite_or_nan) |
                  _mm512_fpclass_ps_mask(sums[1], infinite_or_nan);
  const int high = _mm512_fpclass_ps_mask(sums[2], infinite_or_nan) |
                   _mm512_fpclass_ps_mask(sums[3], infinite_or_nan);
  return (low | high) != 0;
}

/// Not inlined: the call is rare, and its loops would take registers of the product.
template <class T>
TENON_CPU_AOTI_AVX512 [[gnu::noinline, gnu::cold]] void correct_row_avx512(
    const Int4Weights& w, const float* x, float* out, std::int64_t column) noexcept {
  correct_row<32, T>(w, x, out + column, column, false);
}

/// A full block of 64 columns for `rows` rows of `x`: a weight is converted once for all of them.
template <int rows, class T>
TENON_CPU_AOTI_AVX512 [[gnu::always_inline]] inline void multiply_block_avx512(
    const Int4Weights& w, const float* x, const float* group_sums, float* out,
    std::int64_t column) noexcept {
  constexpr int quarters = 4;
  const std::uint8_t* const block = w.data + column * (w.inner / 2);
  const std::int64_t groups = w.inner / w.group;
  const __m512 values = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
  __m512 total[rows][quarters];
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < rows; ++i) {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < quarters; ++j) total[i][j] = _mm512_setzero_ps();
  }
  for (std::int64_t g = 0; g < groups; ++g) {
    __m512 sums[rows][quarters];
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < rows; ++i) {
      TENON_CPU_AOTI_UNROLL
      for (int j = 0; j < quarters; ++j) sums[i][j] = _mm512_setzero_ps();
    }
    const std::int64_t end = (g + 1) * w.group;
    for (std::int64_t k = g * w.group; k < end; ++k) {
      const auto* const bytes = reinterpret_cast<const __m128i*>(block + k * 32);
      const __m512i first = _mm512_cvtepu8_epi32(_mm_loadu_si128(bytes));
      const __m512i second = _mm512_cvtepu8_epi32(_mm_loadu_si128(bytes + 1));
      // The permutation reads the low four bits of each index.
      const __m512 q[quarters] = {_mm512_permutexvar_ps(first, values),
                                  _mm512_permutexvar_ps(second, values),
                                  _mm512_permutexvar_ps(_mm512_srli_epi32(first, 4), values),
                                  _mm512_permutexvar_ps(_mm512_srli_epi32(second, 4), values)};
      TENON_CPU_AOTI_UNROLL
      for (int i = 0; i < rows; ++i) {
        const __m512 factor = _mm512_set1_ps(x[i * w.inner + k]);
        TENON_CPU_AOTI_UNROLL
        for (int j = 0; j < quarters; ++j) sums[i][j] = _mm512_fmadd_ps(factor, q[j], sums[i][j]);
      }
    }
    const T* const scales = static_cast<const T*>(w.scales) + (g * w.columns + column) * 2;
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < quarters; ++j) {
      const ScaleAndZero about = load_scales(scales + j * 32);
      TENON_CPU_AOTI_UNROLL
      for (int i = 0; i < rows; ++i) {
        const __m512 of_group = _mm512_set1_ps(group_sums[i * groups + g]);
        total[i][j] = _mm512_fmadd_ps(sums[i][j], about.scale, total[i][j]);
        total[i][j] = _mm512_fmadd_ps(of_group, about.zero, total[i][j]);
      }
    }
  }
  bool special[rows];
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < rows; ++i) {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < quarters; ++j) {
      _mm512_storeu_ps(out + i * w.columns + column + j * 16, total[i][j]);
    }
    special[i] = is_special(total[i]);
  }
  for (int i = 0; i < rows; ++i) {
    if (special[i]) correct_row_avx512<T>(w, x + i * w.inner, out + i * w.columns, column);
  }
}

/// A full block of 64 columns for one row of `x`: the product that reads weights at the rate of the
/// memory. 64 bytes are the weights of `k` and k + 1, and one of their eight halves of bytes is
/// read in each 32-bit lane, so no byte is widened.
template <class T>
TENON_CPU_AOTI_AVX512 [[gnu::always_inline]] inline void multiply_row_avx512(
    const Int4Weights& w, const float* x, const float* group_sums, float* out,
    std::int64_t column) noexcept {
  constexpr int halves = 8;
  const std::uint8_t* const block = w.data + column * (w.inner / 2);
  const __m512 values = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
  // Byte i of four is in lane i / 4 of the sums of half 2 * (i % 4), and 32 columns later in the
  // sums of the next half.
  const __m512i first = _mm512_setr_epi32(0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27);
  const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(4));
  __m512 total[4];
  TENON_CPU_AOTI_UNROLL
  for (int j = 0; j < 4; ++j) total[j] = _mm512_setzero_ps();
  for (std::int64_t g = 0; g * w.group < w.inner; ++g) {
    __m512 sums[halves];
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < halves; ++i) sums[i] = _mm512_setzero_ps();
    const std::int64_t end = (g + 1) * w.group;
    for (std::int64_t k = g * w.group; k < end; k += 2) {
      const __m512i bytes = _mm512_loadu_si512(block + k * 32);
      const __m512 factor =
          _mm512_mask_broadcastss_ps(_mm512_set1_ps(x[k]), 0xff00, _mm_load_ss(x + k + 1));
      TENON_CPU_AOTI_UNROLL
      for (int i = 0; i < halves; ++i) {
        // The permutation reads the low four bits of each index.
        const __m512i index = _mm512_srli_epi32(bytes, static_cast<unsigned>(4 * i));
        sums[i] = _mm512_fmadd_ps(factor, _mm512_permutexvar_ps(index, values), sums[i]);
      }
    }
    __m256 folded[halves];
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < halves; ++i) {
      folded[i] =
          _mm256_add_ps(_mm512_castps512_ps256(sums[i]), _mm512_extractf32x8_ps(sums[i], 1));
    }
    const T* const scales = static_cast<const T*>(w.scales) + (g * w.columns + column) * 2;
    const __m512 of_group = _mm512_set1_ps(group_sums[g]);
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < 4; ++j) {
      const int odd = j / 2;
      const __m512 low =
          _mm512_insertf32x8(_mm512_castps256_ps512(folded[odd]), folded[2 + odd], 1);
      const __m512 high =
          _mm512_insertf32x8(_mm512_castps256_ps512(folded[4 + odd]), folded[6 + odd], 1);
      const __m512 sum = _mm512_permutex2var_ps(low, j % 2 == 0 ? first : second, high);
      const ScaleAndZero about = load_scales(scales + j * 32);
      total[j] = _mm512_fmadd_ps(sum, about.scale, total[j]);
      total[j] = _mm512_fmadd_ps(of_group, about.zero, total[j]);
    }
  }
  TENON_CPU_AOTI_UNROLL
  for (int j = 0; j < 4; ++j) _mm512_storeu_ps(out + column + j * 16, total[j]);
  if (is_special(total)) correct_row_avx512<T>(w, x, out, column);
}

template <class T>
TENON_CPU_AOTI_AVX512 void multiply_avx512(const Int4Weights& w, const float* x,
                                           const float* group_sums, std::int64_t rows, float* out,
                                           Int4Layout layout, std::int64_t begin,
                                           std::int64_t end) noexcept {
  if (layout != Int4Layout::halves64) {
    return multiply_columns<T>(w, x, group_sums, rows, out, layout, begin, end);
  }
  const std::int64_t groups = w.inner / w.group;
  std::int64_t column = begin;
  for (; column + 64 <= end; column += 64) {
    std::int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
      multiply_block_avx512<4, T>(w, x + i * w.inner, group_sums + i * groups, out + i * w.columns,
                                  column);
    }
    for (; i < rows; ++i) {
      multiply_row_avx512<T>(w, x + i * w.inner, group_sums + i * groups, out + i * w.columns,
                             column);
    }
  }
  if (column < end) multiply_last<T>(w, x, group_sums, rows, out, column);
}

#endif

template <class T>
auto choose([[maybe_unused]] VectorLevel level) noexcept {
#if defined(__x86_64__)
  if (level >= VectorLevel::avx512) return multiply_avx512<T>;
  if (level >= VectorLevel::avx2) return multiply_avx2<T>;
#endif
  return multiply_anywhere<T>;
}

}  // namespace

void multiply(const Int4Weights& w, const float* x, const float* group_sums, std::int64_t rows,
              float* out, Int4Layout layout, VectorLevel level) noexcept {
  auto* chosen = choose<float>(level);
  if (w.type == ScalarType::BFloat16) chosen = choose<BFloat16>(level);
  if (w.type == ScalarType::Half) chosen = choose<Half>(level);
  in_parts(w.columns, 64, bytes_read(w.columns * w.inner / 2, rows),
           [&](std::int64_t begin, std::int64_t end) {
             chosen(w, x, group_sums, rows, out, layout, begin, end);
           });
}

}  // namespace tenon::cpu_aoti
