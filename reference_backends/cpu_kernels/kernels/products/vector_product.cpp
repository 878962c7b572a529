// SPDX-License-Identifier: MIT
#include "kernels/gemm.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/elements.hpp"
#include "kernels/products/column_tile.hpp"
#include "kernels/products/in_parts.hpp"
#include "kernels/products/one_row.hpp"
#include "kernels/products/tile.hpp"
#include "kernels/products/wide_row.hpp"
#include "kernels/vectors/rounded.hpp"
#include "strided.hpp"

namespace tenon::cpu_aoti {

#if defined(__x86_64__)

namespace {

// Sixteen floats that meet elements of B are stored in the order of `tile_elements`.
constexpr std::int64_t block = tile_step;

/// Stores 16 floats in the order of the elements, rounded to them.
template <class T>
TENON_CPU_AOTI_AVX2 inline void store(const Pair& x, T* to) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    _mm256_storeu_ps(to, x.first);
    _mm256_storeu_ps(to + 8, x.second);
  } else {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), rounded<T>(x.first));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 8), rounded<T>(x.second));
  }
}

/// Row `row` of A as floats, in the order of `load` or of the elements, with zeros behind the last.
template <class T, bool in_order>
TENON_CPU_AOTI_AVX2 void pack_row(const MatrixView& a, std::int64_t row, float* to) noexcept {
  for (std::int64_t k = 0; k < a.cols; k += block) {
    const std::int64_t count = std::min(block, a.cols - k);
    T elements[block] = {};
    const T* from = elements;
    if (count == block && a.col_stride == 1) {
      from = a.at<const T>(row, k);
    } else {
      for (std::int64_t i = 0; i < count; ++i) elements[i] = *a.at<T>(row, k + i);
    }
    Pair pair = load(from);
    if constexpr (in_order) put_in_order<T>(pair.first, pair.second);
    _mm256_storeu_ps(to + k, pair.first);
    _mm256_storeu_ps(to + k + 8, pair.second);
  }
}

/// From a packed row of A to the next. Elements that are a multiple of 4096 bytes apart have the
/// same few places in the first-level cache.
[[nodiscard]] constexpr std::int64_t row_step(std::int64_t count) noexcept {
  const std::int64_t step = padded(count);
  return step % 1024 == 0 ? step + wide_block : step;
}

/// Whether B is multiplied in tiles.
[[nodiscard]] bool is_tiled(const Product& p) noexcept {
  return vector_level() < VectorLevel::avx512 && p.a.rows >= least_tiled_rows &&
         p.b.cols >= ColumnTile::columns && p.b.rows >= 16;
}

/// Columns `begin` to `end` of a matrix of elements of `size` bytes.
[[nodiscard]] MatrixView columns(MatrixView m, std::int64_t begin, std::int64_t end,
                                 std::size_t size) noexcept {
  m.data += begin * m.col_stride * static_cast<std::int64_t>(size);
  m.cols = end - begin;
  return m;
}

/// The elements of B that a tile has fetched: `count` columns from `from`.
template <class T>
struct Next {
  const T* from = nullptr;
  int count = 0;
};

/// Adds the sums of `rows` packed rows of A, `step` apart, with `cols` columns of B from `column`,
/// of the elements from `first` to `end`. Sums of a row are `sums_apart` from each other.
template <class T, int rows, int cols>
TENON_CPU_AOTI_AVX2 inline void add_columns(const float* a, std::int64_t step, const MatrixView& b,
                                            std::int64_t column, std::int64_t first,
                                            std::int64_t end, float* sums, std::int64_t sums_step,
                                            Next<T> next, std::int64_t sums_apart = 1) noexcept {
  const std::int64_t last = first + (end - first) / block * block;
  float* const to = sums + column;
  add_tile<rows, cols>(Tile<T>{a + first, step, b.at<const T>(first, column), b.col_stride,
                               last - first, to, sums_step, next.from, next.count, sums_apart});
  if (last == end) return;
  T rest[cols][block] = {};
  for (int j = 0; j < cols; ++j) {
    std::memcpy(rest[j], b.at<const T>(last, column + j),
                static_cast<std::size_t>(end - last) * sizeof(T));
  }
  add_tile<rows, cols>(
      Tile<T>{a + last, step, rest[0], block, block, to, sums_step, nullptr, 0, sums_apart});
}

/// Sums of `rows` packed rows with all columns of a B that no cache holds, `cols` at once, which
/// are far from each other (see `multiply_one_row`).
template <class T, int rows, int cols>
TENON_CPU_AOTI_AVX2 void multiply_rows_apart(const float* a, const MatrixView& b, float* sums,
                                             std::int64_t sums_step) noexcept {
  const std::int64_t step = row_step(b.rows);
  const std::int64_t each = b.cols / cols;
  for (std::int64_t row = 0; row < rows; ++row) std::fill_n(sums + row * sums_step, b.cols, 0.0f);
  for (std::int64_t j = 0; j < each; ++j) {
    MatrixView part = columns(b, j, j + 1, sizeof(T));
    part.col_stride *= each;
    add_columns<T, rows, cols>(a, step, part, 0, 0, b.rows, sums + j, sums_step, {}, each);
  }
  for (std::int64_t j = each * cols; j < b.cols; ++j) {
    add_columns<T, rows, 1>(a, step, b, j, 0, b.rows, sums, sums_step, {});
  }
}

/// Sums of `count` packed rows, a multiple of `rows`, with all columns of B, `cols` at once. A part
/// of B's rows that fits the first-level cache together with A's rows is multiplied with each of
/// A's rows before the next part. `later` columns follow B in memory: while the first rows are
/// multiplied, the processor fetches as many of the later columns, a third with each of three rows.
template <class T, int rows, int cols>
TENON_CPU_AOTI_AVX2 void multiply_rows(const float* a, std::int64_t count, const MatrixView& b,
                                       std::int64_t later, float* sums,
                                       std::int64_t sums_step) noexcept {
  constexpr std::int64_t most_at_once = 1024;
  const std::int64_t step = row_step(b.rows);
  const std::int64_t at_once = count <= rows ? b.rows : most_at_once;
  const std::int64_t times = std::min<std::int64_t>(count / rows, cols);
  for (std::int64_t row = 0; row < count; ++row) std::fill_n(sums + row * sums_step, b.cols, 0.0f);
  for (std::int64_t first = 0; first < b.rows; first += at_once) {
    const std::int64_t end = std::min(first + at_once, b.rows);
    for (std::int64_t row = 0; row < count; row += rows) {
      const float* const from = a + row * step;
      float* const to = sums + row * sums_step;
      const std::int64_t turn = row / rows;
      const std::int64_t skipped = cols * turn / times;
      const std::int64_t fetched = turn < times ? cols * (turn + 1) / times - skipped : 0;
      std::int64_t column = 0;
      for (; column + cols <= b.cols; column += cols) {
        const bool has_next = fetched > 0 && column + cols <= later;
        add_columns<T, rows, cols>(from, step, b, column, first, end, to, sums_step,
                                   has_next
                                       ? Next<T>{b.at<const T>(first, b.cols + column + skipped),
                                                 static_cast<int>(fetched)}
                                       : Next<T>{});
      }
      for (; column < b.cols; ++column) {
        add_columns<T, rows, 1>(from, step, b, column, first, end, to, sums_step, {});
      }
    }
  }
}

[[nodiscard]] bool is_wide_row(const Product& p) noexcept {
  return p.a.rows == 1 && p.b.row_stride == 1 && vector_level() >= VectorLevel::avx512;
}

/// Whether that is done without floats.
template <class T>
[[nodiscard]] bool is_bfloat16_row(const Product& p) noexcept {
  return std::is_same_v<T, BFloat16> && is_wide_row(p) && vector_level() >= VectorLevel::bfloat16;
}

/// A for `multiply_part`.
template <class T>
void pack(const Product& p, bool tiled, float* packed) noexcept {
  if (is_bfloat16_row<T>(p)) return pack_bfloat16_row(p.a, reinterpret_cast<BFloat16*>(packed));
  if constexpr (!std::is_same_v<T, float>) {
    if (is_wide_row(p)) return pack_wide_row<T>(p.a, packed);
  }
  const bool in_order = p.b.row_stride != 1 || tiled;
  for (std::int64_t row = 0; row < p.a.rows; ++row) {
    float* const to = packed + row * row_step(p.a.cols);
    if (in_order) {
      pack_row<T, true>(p.a, row, to);
    } else {
      pack_row<T, false>(p.a, row, to);
    }
  }
}

/// A B for a B whose columns have no gaps, in the order of the elements.
template <class T>
TENON_CPU_AOTI_AVX2 void by_columns(const Product& p, const float* packed, float* sums) noexcept {
  if (is_bfloat16_row<T>(p)) {
    return multiply_bfloat16_row(p.b, reinterpret_cast<const BFloat16*>(packed), sums);
  }
  if constexpr (!std::is_same_v<T, float>) {
    if (is_wide_row(p)) return multiply_row<T>(p.b, packed, sums);
  }
  const std::int64_t step = row_step(p.a.cols);
  const std::int64_t sums_step = padded(p.c.cols);
  if (is_large<T>(p.b) && p.a.rows <= 4) {
    switch (p.a.rows) {
      case 1:
        return multiply_one_row(packed, p.b.at<const T>(0, 0), p.b.col_stride, p.b.cols, p.b.rows,
                                sums);
      case 2:
        return multiply_rows_apart<T, 2, 4>(packed, p.b, sums, sums_step);
      case 3:
        return multiply_rows_apart<T, 3, 3>(packed, p.b, sums, sums_step);
      default:
        return multiply_rows_apart<T, 4, 3>(packed, p.b, sums, sums_step);
    }
  }
  // Up to four rows read B once.
  const std::int64_t at_once =
      p.a.rows <= 4 ? p.b.cols : columns_in_cache(p.b.rows * std::int64_t{sizeof(T)}, 12);
  for (std::int64_t begin = 0; begin < p.b.cols; begin += at_once) {
    const MatrixView b = columns(p.b, begin, std::min(begin + at_once, p.b.cols), sizeof(T));
    float* const out = sums + begin;
    const std::int64_t fours = p.a.rows / 4 * 4;
    const std::int64_t pairs = p.a.rows / 2 * 2;
    const std::int64_t later = p.b.cols - begin - b.cols;
    multiply_rows<T, 4, 3>(packed, fours, b, later, out, sums_step);
    multiply_rows<T, 2, 4>(packed + fours * step, pairs - fours, b, 0, out + fours * sums_step,
                           sums_step);
    if (pairs < p.a.rows) {
      multiply_rows<T, 1, 8>(packed + pairs * step, 1, b, 0, out + pairs * sums_step, sums_step);
    }
  }
}

/// Adds the products of `count` columns of A, from `first`, with as many rows of B. `packed` is A.
template <class T, int count>
TENON_CPU_AOTI_AVX2 void add_products(const Product& p, const float* packed, std::int64_t first,
                                      float* sums) noexcept {
  const std::int64_t step = row_step(p.a.cols);
  const std::int64_t sums_step = padded(p.c.cols);
  for (std::int64_t column = 0; column < p.c.cols; column += block) {
    Pair pairs[count];
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < count; ++j) {
      const T* const from = p.b.at<const T>(first + j, column);
      if (column + block <= p.c.cols) [[likely]] {
        pairs[j] = load(from);
      } else {
        const Padded<T> rest(from, p.c.cols - column);
        pairs[j] = load(rest.at);
      }
    }
    for (std::int64_t row = 0; row < p.a.rows; ++row) {
      const float* const factors = packed + row * step + first;
      float* const at = sums + row * sums_step + column;
      Pair sum{_mm256_loadu_ps(at), _mm256_loadu_ps(at + 8)};
      TENON_CPU_AOTI_UNROLL
      for (int j = 0; j < count; ++j) {
        const __m256 factor = _mm256_broadcast_ss(factors + j);
        sum.first = _mm256_fmadd_ps(factor, pairs[j].first, sum.first);
        sum.second = _mm256_fmadd_ps(factor, pairs[j].second, sum.second);
      }
      _mm256_storeu_ps(at, sum.first);
      _mm256_storeu_ps(at + 8, sum.second);
    }
  }
}

/// A B for a B whose rows have no gaps, in the order of `load`.
template <class T>
TENON_CPU_AOTI_AVX2 void by_rows(const Product& p, const float* packed, float* sums) noexcept {
  const std::int64_t sums_step = padded(p.c.cols);
  std::fill_n(sums, p.a.rows * sums_step, 0.0f);
  std::int64_t k = 0;
  for (; k + 4 <= p.a.cols; k += 4) add_products<T, 4>(p, packed, k, sums);
  for (; k < p.a.cols; ++k) add_products<T, 1>(p, packed, k, sums);
  for (std::int64_t i = 0; std::is_same_v<T, BFloat16> && i < p.a.rows * sums_step; i += block) {
    Pair pair{_mm256_loadu_ps(sums + i), _mm256_loadu_ps(sums + i + 8)};
    put_in_order<T>(pair.first, pair.second);
    _mm256_storeu_ps(sums + i, pair.first);
    _mm256_storeu_ps(sums + i + 8, pair.second);
  }
}

/// Writes alpha sums + beta C to C.
template <class T>
TENON_CPU_AOTI_AVX2 void finish(const Product& p, float* sums) noexcept {
  const std::int64_t sums_step = padded(p.c.cols);
  const auto alpha = static_cast<float>(p.alpha);
  const auto beta = static_cast<float>(p.beta);
  for (std::int64_t row = 0; row < p.c.rows; ++row) {
    const float* const from = sums + row * sums_step;
    for (std::int64_t column = 0; column < p.c.cols; column += block) {
      Pair sum{_mm256_loadu_ps(from + column), _mm256_loadu_ps(from + column + 8)};
      const std::int64_t count = std::min(block, p.c.cols - column);
      T* const to = p.c.at<T>(row, column);
      const bool is_whole = count == block && p.c.col_stride == 1;
      T copies[block] = {};
      T* const elements = is_whole ? to : copies;
      if (p.alpha != 1) {
        sum.first = _mm256_mul_ps(sum.first, _mm256_set1_ps(alpha));
        sum.second = _mm256_mul_ps(sum.second, _mm256_set1_ps(alpha));
      }
      if (p.beta != 0) {
        if (!is_whole) {
          for (std::int64_t i = 0; i < count; ++i) copies[i] = to[i * p.c.col_stride];
        }
        Pair before = load<T>(elements);
        put_in_order<T>(before.first, before.second);
        sum.first = _mm256_fmadd_ps(before.first, _mm256_set1_ps(beta), sum.first);
        sum.second = _mm256_fmadd_ps(before.second, _mm256_set1_ps(beta), sum.second);
      }
      store(sum, elements);
      if (is_whole) continue;
      for (std::int64_t i = 0; i < count; ++i) to[i * p.c.col_stride] = copies[i];
    }
  }
}

/// A B in tiles, in the order of the elements.
template <class T>
TENON_CPU_AOTI_AVX2 void by_tiles(const Product& p, const float* packed, float* sums) noexcept {
  const TiledRows rows{packed, row_step(p.a.cols), p.a.rows, p.a.cols, sums, padded(p.c.cols)};
  if (p.b.row_stride == 1) {
    multiply_by_tiles(MatrixTiles<T, true>{p.b}, rows, 0, p.b.cols);
  } else {
    multiply_by_tiles(MatrixTiles<T, false>{p.b}, rows, 0, p.b.cols);
  }
}

template <class T>
void multiply_part(const Product& p, bool tiled, const float* packed, float* sums) noexcept {
  if (tiled) {
    by_tiles<T>(p, packed, sums);
  } else if (p.b.row_stride == 1) {
    by_columns<T>(p, packed, sums);
  } else {
    by_rows<T>(p, packed, sums);
  }
  finish<T>(p, sums);
}

template <class T>
Status multiply_panel(const Product& p) {
  const std::int64_t packed_count = p.a.rows * row_step(p.a.cols);
  const std::int64_t sum_count = p.a.rows * padded(p.c.cols);
  TENON_TRY(const Scratch scratch,
            Scratch::of((packed_count + sum_count) * static_cast<std::int64_t>(sizeof(float))));
  auto* const packed = scratch.as<float>();
  const bool tiled = is_tiled(p);
  pack<T>(p, tiled, packed);
  const std::int64_t nbytes = p.b.rows * p.b.cols * static_cast<std::int64_t>(sizeof(T));
  in_parts(p.c.cols, wide_block, bytes_read(nbytes, p.a.rows),
           [&](std::int64_t begin, std::int64_t end) {
             Product part = p;
             part.b = columns(p.b, begin, end, sizeof(T));
             part.c = columns(p.c, begin, end, sizeof(T));
             multiply_part<T>(part, tiled, packed, packed + packed_count + begin * p.a.rows);
           });
  return aoti::cancel_flag().check();
}

/// Rows `begin` to `end` of a matrix of elements of `size` bytes.
[[nodiscard]] MatrixView rows_of(MatrixView m, std::int64_t begin, std::int64_t end,
                                 std::size_t size) noexcept {
  m.data += begin * m.row_stride * static_cast<std::int64_t>(size);
  m.rows = end - begin;
  return m;
}

template <class T>
Status multiply_as(const Product& p) {
  // The copies of more rows would take the place of B in the caches.
  constexpr std::int64_t most_at_once = 256;
  for (std::int64_t begin = 0; begin < p.a.rows; begin += most_at_once) {
    const std::int64_t end = std::min(begin + most_at_once, p.a.rows);
    Product panel = p;
    panel.a = rows_of(p.a, begin, end, sizeof(T));
    panel.c = rows_of(p.c, begin, end, sizeof(T));
    TENON_RETURN_IF_ERROR(multiply_panel<T>(panel));
  }
  return ok();
}

}  // namespace

bool has_vector_product(const Product& p) noexcept {
  const VectorLevel level = vector_level();
  if (level < VectorLevel::avx2 || p.a.cols == 0 || (p.b.row_stride != 1 && p.b.col_stride != 1)) {
    return false;
  }
  const bool is_in_columns = p.b.row_stride == 1;
  // Weights in columns are multiplied as they are, with any number of rows; oneDNN's products with
  // AVX-512 are faster than this with more.
  const bool takes_all = level < VectorLevel::avx512 && is_in_columns && p.is_b_fixed;
  constexpr std::int64_t most_by_columns = 64;
  switch (p.type) {
    case ScalarType::Float:
      return is_large<float>(p.b) && (is_tiled(p) || (takes_all && p.b.cols > 1));
    case ScalarType::BFloat16:
      if (level >= VectorLevel::avx512) return p.a.rows <= (is_in_columns ? 1 : 4);
      [[fallthrough]];
    case ScalarType::Half:
      // oneDNN has nothing but a product of floats, for which all of B is converted.
      return takes_all || is_tiled(p) || p.a.rows <= (is_in_columns ? most_by_columns : 16);
    default:
      return false;
  }
}

Status multiply_by_vectors(const Product& p) {
  switch (p.type) {
    case ScalarType::Float:
      return multiply_as<float>(p);
    case ScalarType::Half:
      return multiply_as<Half>(p);
    default:
      return multiply_as<BFloat16>(p);
  }
}

#else

bool has_vector_product(const Product&) noexcept { return false; }

Status multiply_by_vectors(const Product&) {
  return error(Error::NotSupported, "products by vectors: expected a processor with AVX2");
}

#endif

}  // namespace tenon::cpu_aoti
