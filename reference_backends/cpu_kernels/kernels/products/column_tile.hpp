// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/elements.hpp"
#include "kernels/gemm.hpp"
#include "kernels/products/tile.hpp"
#include "kernels/vectors/eight_floats.hpp"
#include "kernels/vectors/prefetch.hpp"
#include "kernels/vectors/vector_level.hpp"

#if defined(__x86_64__)

// Products of many rows, for processors with AVX2: a part of B becomes floats once, in an order
// that needs no sum over the lanes of a vector, and is multiplied with all rows of A.
namespace tenon::cpu_aoti {

/// Some numbers of 32 columns of B as floats, with all columns side by side: they stay in the
/// first-level cache while all rows of A are multiplied with them.
struct ColumnTile {
  static constexpr std::int64_t columns = 32, most = 128;
  alignas(32) float at[most * columns];
};

/// The fewest rows of A that are worth a tile.
inline constexpr std::int64_t least_tiled_rows = 16;

/// Rows of A without gaps, and where their products with all columns are stored.
struct TiledRows {
  const float* a;
  std::int64_t a_step;  ///< From a row to the next.
  std::int64_t count, inner;
  float* out;  ///< Has room for whole tiles of columns.
  std::int64_t out_step;
};

/// Stores eight numbers of each of eight columns in the order of a tile.
template <class T>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline void store_transposed(const T* const (&from)[8],
                                                                        float* to) noexcept {
  constexpr std::int64_t step = ColumnTile::columns;
  __m256 pairs[8];
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < 8; i += 2) {
    const __m256 first = eight_floats(from[i]);
    const __m256 second = eight_floats(from[i + 1]);
    pairs[i] = _mm256_unpacklo_ps(first, second);
    pairs[i + 1] = _mm256_unpackhi_ps(first, second);
  }
  __m256 fours[8];
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < 8; i += 4) {
    fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
    fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
  }
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < 4; ++i) {
    _mm256_store_ps(to + i * step, _mm256_permute2f128_ps(fours[i], fours[4 + i], 0x20));
    _mm256_store_ps(to + (4 + i) * step, _mm256_permute2f128_ps(fours[i], fours[4 + i], 0x31));
  }
}

/// The B of a product of T, in columns without gaps or else in rows.
template <class T, bool in_columns>
struct MatrixTiles {
  MatrixView b;

  static constexpr std::int64_t at_once = ColumnTile::most;

  /// Rows [begin, begin + count) of the columns from `column`, of which there are `columns` before
  /// the last. The other columns of a tile are not read.
  TENON_CPU_AOTI_AVX2 void fill(ColumnTile& tile, std::int64_t column, std::int64_t columns,
                                std::int64_t begin, std::int64_t count) const noexcept {
    if constexpr (in_columns) {
      for (std::int64_t j = 0; j < columns; j += 8) {
        const T* from[8];
        for (std::int64_t i = 0; i < 8; ++i) {
          from[i] = b.at<const T>(begin, column + std::min(j + i, columns - 1));
        }
        fill_eight(from, count, tile.at + j);
      }
    } else {
      for (std::int64_t k = 0; k < count; ++k) {
        fill_row(b.at<const T>(begin + k, column), columns, tile.at + k * ColumnTile::columns);
      }
    }
  }

  /// Has the processor fetch what `fill` reads.
  TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] void fetch(std::int64_t column, std::int64_t columns,
                                                        std::int64_t begin,
                                                        std::int64_t count) const noexcept {
    const std::int64_t lines = in_columns ? columns : count;
    for (std::int64_t i = 0; i < lines; ++i) {
      prefetch(in_columns ? b.at<const T>(begin, column + i) : b.at<const T>(begin + i, column),
               in_columns ? count : columns);
    }
  }

 private:
  TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] static void fill_eight(const T* (&from)[8],
                                                                    std::int64_t count,
                                                                    float* to) noexcept {
    std::int64_t k = 0;
    for (; k + 8 <= count; k += 8) {
      store_transposed<T>(from, to + k * ColumnTile::columns);
      for (const T*& column : from) column += 8;
    }
    if (k == count) return;
    T rest[8][8] = {};
    for (int i = 0; i < 8; ++i) {
      std::memcpy(rest[i], from[i], static_cast<std::size_t>(count - k) * sizeof(T));
      from[i] = rest[i];
    }
    store_transposed<T>(from, to + k * ColumnTile::columns);
  }

  TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] static void fill_row(const T* from,
                                                                  std::int64_t columns,
                                                                  float* to) noexcept {
    if (columns < ColumnTile::columns) {
      const Padded<T, ColumnTile::columns> rest(from, columns);
      return convert_row(rest.at, to);
    }
    convert_row(from, to);
  }

  TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] static void convert_row(const T* from,
                                                                     float* to) noexcept {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < ColumnTile::columns; j += 8) {
      _mm256_store_ps(to + j, eight_floats(from + j));
    }
  }
};

/// Adds the products of `count` numbers of each of `rows` rows with the columns of a tile to `out`.
/// Three rows are twelve sums side by side, which hide the latency of an addition. Each begins with
/// 0, so that what rounding loses grows with a tile's numbers and not with a row's.
template <int rows>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline void add_column_tile(const ColumnTile& tile,
                                                                       const TiledRows& all,
                                                                       const float* a,
                                                                       std::int64_t count,
                                                                       float* out) noexcept {
  constexpr int vectors = ColumnTile::columns / 8;
  __m256 sums[rows][vectors];
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < rows; ++i) {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < vectors; ++j) sums[i][j] = _mm256_setzero_ps();
  }
  for (std::int64_t k = 0; k < count; ++k) {
    __m256 right[vectors];
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < vectors; ++j) {
      right[j] = _mm256_load_ps(tile.at + k * ColumnTile::columns + 8 * j);
    }
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < rows; ++i) {
      const __m256 left = _mm256_broadcast_ss(a + i * all.a_step + k);
      TENON_CPU_AOTI_UNROLL
      for (int j = 0; j < vectors; ++j) sums[i][j] = _mm256_fmadd_ps(left, right[j], sums[i][j]);
    }
  }
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < rows; ++i) {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < vectors; ++j) {
      float* const to = out + i * all.out_step + 8 * j;
      _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), sums[i][j]));
    }
  }
}

/// Stores the products of all rows with the columns [begin, end) of B. `source` fills tiles with
/// `Source::at_once` of their numbers, and has the processor fetch the next ones, from memory that
/// is idle while a tile is multiplied.
template <class Source>
TENON_CPU_AOTI_AVX2 inline void multiply_by_tiles(const Source& source, const TiledRows& rows,
                                                  std::int64_t begin, std::int64_t end) noexcept {
  ColumnTile tile;
  for (std::int64_t column = begin; column < end; column += ColumnTile::columns) {
    const std::int64_t columns = std::min(ColumnTile::columns, end - column);
    for (std::int64_t i = 0; i < rows.count; ++i) {
      TENON_CPU_AOTI_UNROLL
      for (int j = 0; j < ColumnTile::columns; j += 8) {
        _mm256_storeu_ps(rows.out + i * rows.out_step + column + j, _mm256_setzero_ps());
      }
    }
    for (std::int64_t k = 0; k < rows.inner; k += source.at_once) {
      const std::int64_t count = std::min(source.at_once, rows.inner - k);
      source.fill(tile, column, columns, k, count);
      const bool is_last = k + count == rows.inner;
      const std::int64_t next = is_last ? column + ColumnTile::columns : column;
      const std::int64_t first = is_last ? 0 : k + count;
      if (next < end) {
        source.fetch(next, std::min(ColumnTile::columns, end - next), first,
                     std::min(source.at_once, rows.inner - first));
      }
      std::int64_t i = 0;
      const float* a = rows.a + k;
      float* out = rows.out + column;
      for (; i + 3 <= rows.count; i += 3, a += 3 * rows.a_step, out += 3 * rows.out_step) {
        add_column_tile<3>(tile, rows, a, count, out);
      }
      if (i + 2 == rows.count) add_column_tile<2>(tile, rows, a, count, out);
      if (i + 1 == rows.count) add_column_tile<1>(tile, rows, a, count, out);
    }
  }
}

}  // namespace tenon::cpu_aoti

#endif
