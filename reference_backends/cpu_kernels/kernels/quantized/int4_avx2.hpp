// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/elements.hpp"
#include "kernels/products/column_tile.hpp"
#include "kernels/quantized/int4_store.hpp"
#include "kernels/quantized/weight_products.hpp"
#include "kernels/vectors/prefetch.hpp"
#include "kernels/vectors/vector_level.hpp"

#if defined(__x86_64__)

// Products with weights of four bits in full blocks of 32 columns, in halves: of one row, of a few
// rows, and of many, which are worth a tile.
namespace tenon::cpu_aoti {

/// A full block of 32 columns, in halves, for one row of `x`: the product that reads weights at the
/// rate of the memory. 32 bytes are the weights of `k` and k + 1, and one of their eight halves of
/// bytes is read in each 32-bit lane, so no byte is widened.
template <class T>
TENON_CPU_AOTI_AVX2 inline void multiply_int4_row(const Int4Weights& w, const float* x,
                                                  const float* group_sums, float* out,
                                                  std::int64_t column) noexcept {
  constexpr int halves = 8, columns = 32;
  const std::uint8_t* const block = w.data + column * (w.inner / 2);
  // Where half i of a lane is, q is 16^i times as large. The last one is shifted: its first bit
  // would be a sign.
  constexpr float units[halves] = {1, 0x1p-4f, 0x1p-8f, 0x1p-12f, 0x1p-16f, 0x1p-20f, 0x1p-24f, 1};
  float total[columns] = {};
  const std::int64_t groups = w.inner / w.group;
  const auto scales_of = [&](std::int64_t g) {
    return static_cast<const T*>(w.scales) + (g * w.columns + column) * 2;
  };
  for (std::int64_t g = 0; g < groups; ++g) {
    // The scales of each group are in another page, where no processor looks ahead; after the last
    // group comes the first of the next columns.
    if (const std::int64_t later = g + 2; later < groups) {
      prefetch(scales_of(later), 2 * columns);
    } else if (later - groups < groups && column + columns < w.columns) {
      prefetch(scales_of(later - groups) + 2 * columns, 2 * columns);
    }
    __m256 sums[halves];
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < halves; ++i) sums[i] = _mm256_setzero_ps();
    const std::int64_t end = (g + 1) * w.group;
    for (std::int64_t k = g * w.group; k < end; k += 2) {
      const auto* const from = reinterpret_cast<const __m256i*>(block + k * (columns / 2));
      prefetch_ahead(from);
      const __m256i bytes = _mm256_loadu_si256(from);
      const __m256 factor =
          _mm256_blend_ps(_mm256_broadcast_ss(x + k), _mm256_broadcast_ss(x + k + 1), 0xf0);
      TENON_CPU_AOTI_UNROLL
      for (int i = 0; i < halves; ++i) {
        const __m256i q = i + 1 < halves ? _mm256_and_si256(bytes, _mm256_set1_epi32(15 << 4 * i))
                                         : _mm256_srli_epi32(bytes, 28);
        sums[i] = _mm256_fmadd_ps(factor, _mm256_cvtepi32_ps(q), sums[i]);
      }
    }
    __m128 folded[halves];
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < halves; ++i) {
      folded[i] = _mm_mul_ps(_mm_set1_ps(units[i]), _mm_add_ps(_mm256_castps256_ps128(sums[i]),
                                                               _mm256_extractf128_ps(sums[i], 1)));
    }
    // Byte i of four is in lane i / 4 of the sums of half 2 * (i % 4), and 16 columns later in the
    // sums of the next half.
    alignas(16) float of_group[columns];
    TENON_CPU_AOTI_UNROLL
    for (int odd = 0; odd < 2; ++odd) {
      _MM_TRANSPOSE4_PS(folded[odd], folded[2 + odd], folded[4 + odd], folded[6 + odd]);
      TENON_CPU_AOTI_UNROLL
      for (int lane = 0; lane < 4; ++lane) {
        _mm_store_ps(of_group + 16 * odd + 4 * lane, folded[2 * lane + odd]);
      }
    }
    const T* const scales = scales_of(g);
    const float sum = group_sums[g];
    for (int n = 0; n < columns; ++n) {
      total[n] += (of_group[n] - 8 * sum) * widen(scales[2 * n]) + sum * widen(scales[2 * n + 1]);
    }
  }
  store_row<columns / 2, T>(w, x, total, out, column, false);
}

// Several rows read a block of 32 columns, in halves, by the 32-bit lanes of a row of it: byte v of
// lane i has column 4 i + v, and 16 columns later. Vector v of four has these bytes of the four
// lanes, first the low halves and then the high ones.
inline constexpr int lane_vectors = 4;

/// The place of the low half of vector `v` in a lane; the high one is four bits further. Both
/// halves of the last vector are shifted by four: their first bit would be a sign.
[[nodiscard]] constexpr int lane_place(int v) noexcept { return v + 1 < lane_vectors ? 8 * v : 20; }

/// Sums for `rows` rows of x from k = `begin` to `end`: `vectors` vectors from `first`, in which q
/// is as large as its place makes it. A weight becomes a float once for all rows, and twelve sums
/// side by side hide the latency of an addition.
template <int rows, int vectors>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline void add_lanes(
    const Int4Weights& w, const std::uint8_t* block, const float* x, std::int64_t begin,
    std::int64_t end, int first, float (*sums)[lane_vectors * 8]) noexcept {
  __m256i masks[vectors];
  __m256 sum[rows][vectors];
  TENON_CPU_AOTI_UNROLL
  for (int j = 0; j < vectors; ++j) {
    const int low = 15 << lane_place(first + j), high = low << 4;
    masks[j] = _mm256_setr_epi32(low, low, low, low, high, high, high, high);
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < rows; ++i) sum[i][j] = _mm256_setzero_ps();
  }
  for (std::int64_t k = begin; k < end; ++k) {
    const __m256i bytes = _mm256_broadcastsi128_si256(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + k * 16)));
    __m256 q[vectors];
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < vectors; ++j) {
      const bool is_last = first + j + 1 == lane_vectors;
      const __m256i placed = is_last ? _mm256_srli_epi32(bytes, 4) : bytes;
      q[j] = _mm256_cvtepi32_ps(_mm256_and_si256(placed, masks[j]));
    }
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < rows; ++i) {
      const __m256 factor = _mm256_broadcast_ss(x + i * w.inner + k);
      TENON_CPU_AOTI_UNROLL
      for (int j = 0; j < vectors; ++j) sum[i][j] = _mm256_fmadd_ps(factor, q[j], sum[i][j]);
    }
  }
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < rows; ++i) {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < vectors; ++j) _mm256_store_ps(sums[i] + 8 * (first + j), sum[i][j]);
  }
}

/// The scales of 32 columns in the order of lanes, and what the sum of x is multiplied with: q
/// begins at 0 in a lane, and not at -8.
struct LaneScales {
  __m256 scale[lane_vectors], zero[lane_vectors];
};

template <class T>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline LaneScales lane_scales(const T* from) noexcept {
  float wide[16 * lane_vectors];
  for (int i = 0; i < 16 * lane_vectors; ++i) wide[i] = widen(from[i]);
  __m128 scales[2][lane_vectors], zeros[2][lane_vectors];
  TENON_CPU_AOTI_UNROLL
  for (int half = 0; half < 2; ++half) {
    TENON_CPU_AOTI_UNROLL
    for (int lane = 0; lane < 4; ++lane) {
      const float* const of_lane = wide + 32 * half + 8 * lane;
      const __m128 first = _mm_loadu_ps(of_lane), second = _mm_loadu_ps(of_lane + 4);
      scales[half][lane] = _mm_shuffle_ps(first, second, 0x88);
      zeros[half][lane] = _mm_shuffle_ps(first, second, 0xdd);
    }
    _MM_TRANSPOSE4_PS(scales[half][0], scales[half][1], scales[half][2], scales[half][3]);
    _MM_TRANSPOSE4_PS(zeros[half][0], zeros[half][1], zeros[half][2], zeros[half][3]);
  }
  LaneScales out;
  TENON_CPU_AOTI_UNROLL
  for (int v = 0; v < lane_vectors; ++v) {
    out.scale[v] = _mm256_set_m128(scales[1][v], scales[0][v]);
    out.zero[v] = _mm256_fnmadd_ps(_mm256_set1_ps(8), out.scale[v],
                                   _mm256_set_m128(zeros[1][v], zeros[0][v]));
  }
  return out;
}

/// Stores a row of a block, which is in the order of lanes, in the order of columns.
template <class T>
TENON_CPU_AOTI_AVX2 [[gnu::noinline]] inline void store_lanes(const Int4Weights& w, const float* x,
                                                              const float* lanes, float* out,
                                                              std::int64_t column) noexcept {
  float total[lane_vectors * 8];
  for (int v = 0; v < lane_vectors; ++v) {
    for (int i = 0; i < 4; ++i) {
      total[4 * i + v] = lanes[8 * v + i];
      total[16 + 4 * i + v] = lanes[8 * v + 4 + i];
    }
  }
  store_row<lane_vectors * 4, T>(w, x, total, out, column, false);
}

/// A full block of 32 columns, in halves, for `rows` rows of x. With `fetches` the processor
/// fetches the block behind it meanwhile, which must exist.
template <int rows, int vectors, class T>
TENON_CPU_AOTI_AVX2 inline void multiply_int4_block(const Int4Weights& w, const float* x,
                                                    const float* group_sums, float* out,
                                                    std::int64_t column, bool fetches) noexcept {
  constexpr int columns = lane_vectors * 8;
  const std::uint8_t* const block = w.data + column * (w.inner / 2);
  const std::int64_t groups = w.inner / w.group;
  alignas(32) float total[rows][columns] = {};
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t begin = g * w.group, end = begin + w.group;
    const T* const scales = static_cast<const T*>(w.scales) + (g * w.columns + column) * 2;
    if (fetches) {
      prefetch(scales + 2 * columns, 2 * columns);
      prefetch(block + (w.inner + begin) * (columns / 2), w.group * (columns / 2));
    }
    alignas(32) float sums[rows][columns];
    TENON_CPU_AOTI_UNROLL
    for (int first = 0; first < lane_vectors; first += vectors) {
      add_lanes<rows, vectors>(w, block, x, begin, end, first, sums);
    }
    const LaneScales about = lane_scales(scales);
    for (int i = 0; i < rows; ++i) {
      const __m256 of_group = _mm256_broadcast_ss(group_sums + i * groups + g);
      TENON_CPU_AOTI_UNROLL
      for (int v = 0; v < lane_vectors; ++v) {
        const float low = 1.0f / static_cast<float>(1 << lane_place(v)), high = low / 16;
        const __m256 unit = _mm256_setr_ps(low, low, low, low, high, high, high, high);
        float* const at = total[i] + 8 * v;
        __m256 sum = _mm256_fmadd_ps(of_group, about.zero[v], _mm256_load_ps(at));
        sum = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_load_ps(sums[i] + 8 * v), unit), about.scale[v],
                              sum);
        _mm256_store_ps(at, sum);
      }
    }
  }
  for (int i = 0; i < rows; ++i) {
    store_lanes<T>(w, x + i * w.inner, total[i], out + i * w.columns, column);
  }
}

/// Full blocks of 32 columns in halves. Scale and zero of a group are applied to each weight, as by
/// PyTorch.
template <class T>
struct Int4Tiles {
  const Int4Weights& w;
  std::int64_t at_once;

  explicit Int4Tiles(const Int4Weights& weights) noexcept
      : w(weights), at_once(std::min(weights.group, ColumnTile::most)) {}

  TENON_CPU_AOTI_AVX2 void fill(ColumnTile& tile, std::int64_t column, std::int64_t /*columns*/,
                                std::int64_t begin, std::int64_t count) const noexcept {
    constexpr int quarters = 4;
    const T* const from =
        static_cast<const T*>(w.scales) + (begin / w.group * w.columns + column) * 2;
    alignas(32) float scales[ColumnTile::columns];
    alignas(32) float zeros[ColumnTile::columns];
    for (std::int64_t n = 0; n < ColumnTile::columns; ++n) {
      scales[n] = widen(from[2 * n]);
      zeros[n] = widen(from[2 * n + 1]);
    }
    __m256 scale[quarters], zero[quarters];
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < quarters; ++j) {
      scale[j] = _mm256_load_ps(scales + 8 * j);
      zero[j] = _mm256_load_ps(zeros + 8 * j);
    }
    // The floats -8 to 7 have no bits but their first 16, which two tables of bytes have.
    const __m256i upper = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(-63, -64, -64, -64, -64, -64, -64, -65, 0, 63, 64, 64, 64, 64, 64, 64));
    const __m256i lower = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -32, -64, -96, -128, 64, 0, -128, 0, -128, 0, 64, -128, -96, -64, -32));
    // Bytes i to i + 3 and i + 8 to i + 11 of a row, twice: the second time for their high halves.
    const __m256i order = _mm256_setr_epi8(0, 1, 2, 3, 8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11, 4, 5,
                                           6, 7, 12, 13, 14, 15, 4, 5, 6, 7, 12, 13, 14, 15);
    const __m256i shifts = _mm256_setr_epi64x(0, 4, 0, 4);
    const __m256i four_bits = _mm256_set1_epi8(15);
    const __m256i nothing = _mm256_setzero_si256();
    const std::uint8_t* const block = w.data + column * (w.inner / 2);
    for (std::int64_t k = 0; k < count; ++k) {
      const auto* const bytes =
          reinterpret_cast<const __m128i*>(block + (begin + k) * (ColumnTile::columns / 2));
      const __m256i twice =
          _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(bytes)), order);
      const __m256i index = _mm256_and_si256(_mm256_srlv_epi64(twice, shifts), four_bits);
      const __m256i low = _mm256_shuffle_epi8(lower, index);
      const __m256i high = _mm256_shuffle_epi8(upper, index);
      const __m256i first = _mm256_unpacklo_epi8(low, high);
      const __m256i second = _mm256_unpackhi_epi8(low, high);
      const __m256 q[quarters] = {_mm256_castsi256_ps(_mm256_unpacklo_epi16(nothing, first)),
                                  _mm256_castsi256_ps(_mm256_unpackhi_epi16(nothing, first)),
                                  _mm256_castsi256_ps(_mm256_unpacklo_epi16(nothing, second)),
                                  _mm256_castsi256_ps(_mm256_unpackhi_epi16(nothing, second))};
      TENON_CPU_AOTI_UNROLL
      for (int j = 0; j < quarters; ++j) {
        _mm256_store_ps(tile.at + k * ColumnTile::columns + 8 * j,
                        _mm256_fmadd_ps(q[j], scale[j], zero[j]));
      }
    }
  }

  TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] void fetch(std::int64_t column,
                                                        std::int64_t /*columns*/,
                                                        std::int64_t begin,
                                                        std::int64_t count) const noexcept {
    prefetch(static_cast<const T*>(w.scales) + (begin / w.group * w.columns + column) * 2,
             2 * ColumnTile::columns);
    prefetch(w.data + column * (w.inner / 2) + begin * (ColumnTile::columns / 2),
             count * (ColumnTile::columns / 2));
  }
};

}  // namespace tenon::cpu_aoti

#endif
