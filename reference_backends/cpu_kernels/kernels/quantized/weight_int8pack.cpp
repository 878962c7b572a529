// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/products/column_tile.hpp"
#include "kernels/products/in_parts.hpp"
#include "kernels/products/one_row.hpp"
#include "kernels/products/tile.hpp"
#include "kernels/quantized/weight_products.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

void multiply_anywhere(const Int8Weights& w, const float* x, std::int64_t rows, float* out,
                       std::int64_t begin, std::int64_t end) noexcept {
  // Several sums, so that compilers vectorise the loop: they may not reorder one sum of floats.
  constexpr std::int64_t lanes = 16;
  for (std::int64_t j = begin; j < end; ++j) {
    const std::int8_t* const weight = w.data + j * w.stride;
    for (std::int64_t i = 0; i < rows; ++i) {
      const float* const row = x + i * w.inner;
      float sums[lanes] = {};
      std::int64_t k = 0;
      for (; k + lanes <= w.inner; k += lanes) {
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
          sums[lane] += row[k + lane] * static_cast<float>(weight[k + lane]);
        }
      }
      for (; k < w.inner; ++k) sums[0] += row[k] * static_cast<float>(weight[k]);
      for (std::int64_t lane = 1; lane < lanes; ++lane) sums[0] += sums[lane];
      out[i * w.columns + j] = sums[0];
    }
  }
}

#if defined(__x86_64__)

/// As `multiply_block` for AVX-512. The processor fetches the columns at `next` meanwhile, which
/// may be null.
template <int rows, int columns>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline void multiply_block_avx2(
    const Int8Weights& w, const float* x, float* out, std::int64_t column,
    const std::int8_t* next) noexcept {
  const std::int64_t whole = w.inner / tile_step * tile_step;
  const std::int8_t* const weight = w.data + column * w.stride;
  for (int i = 0; i < rows; ++i) std::fill_n(out + i * w.columns + column, columns, 0.0f);
  add_tile<rows, columns>(Tile<std::int8_t>{x, w.inner, weight, w.stride, whole, out + column,
                                            w.columns, next, next ? columns : 0});
  for (int i = 0; whole < w.inner && i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      for (std::int64_t k = whole; k < w.inner; ++k) {
        out[i * w.columns + column + j] +=
            x[i * w.inner + k] * static_cast<float>(weight[j * w.stride + k]);
      }
    }
  }
}

/// The columns from `begin` to `end`. The columns from `end` to `last` follow; as many of these as
/// of the first are fetched.
template <int rows, int columns>
TENON_CPU_AOTI_AVX2 [[gnu::always_inline]] inline void multiply_rows_avx2(
    const Int8Weights& w, const float* x, float* out, std::int64_t begin, std::int64_t end,
    std::int64_t last) noexcept {
  std::int64_t j = begin;
  for (; j + columns <= end; j += columns) {
    const std::int64_t later = j + end - begin;
    const bool has_next = later + columns <= last;
    multiply_block_avx2<rows, columns>(w, x, out, j,
                                       has_next ? w.data + later * w.stride : nullptr);
  }
  for (; j < end; ++j) multiply_block_avx2<rows, 1>(w, x, out, j, nullptr);
}

/// The columns from `begin` to `end` of weights that no cache holds, whose columns are read far
/// from each other (see `multiply_one_row`). A column is whole: a multiple of `tile_step`.
template <int rows, int columns>
TENON_CPU_AOTI_AVX2 void multiply_apart_avx2(const Int8Weights& w, const float* x, float* out,
                                             std::int64_t begin, std::int64_t end) noexcept {
  const std::int64_t each = (end - begin) / columns;
  for (std::int64_t i = 0; i < rows; ++i)
    std::fill_n(out + i * w.columns + begin, end - begin, 0.0f);
  for (std::int64_t j = begin; j < begin + each; ++j) {
    add_tile<rows, columns>(Tile<std::int8_t>{x, w.inner, w.data + j * w.stride, each * w.stride,
                                              w.inner, out + j, w.columns, nullptr, 0, each});
  }
  for (std::int64_t j = begin + each * columns; j < end; ++j) {
    multiply_block_avx2<rows, 1>(w, x, out, j, nullptr);
  }
}

TENON_CPU_AOTI_AVX2 void multiply_avx2(const Int8Weights& w, const float* x, std::int64_t rows,
                                       float* out, std::int64_t begin, std::int64_t end) noexcept {
  if (rows >= least_tiled_rows) {
    const std::int64_t tiled = (end - begin) / ColumnTile::columns * ColumnTile::columns;
    // A view may be written to; this one is only read.
    auto* const data = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(w.data));
    multiply_by_tiles(
        MatrixTiles<std::int8_t, true>{MatrixView{data, w.inner, w.columns, 1, w.stride}},
        TiledRows{x, w.inner, rows, w.inner, out, w.columns}, begin, begin + tiled);
    begin += tiled;
  }
  const bool is_whole = w.inner % tile_step == 0;
  const bool is_large = is_whole && w.columns * w.inner >= large_bytes;
  if (is_large && rows == 2) return multiply_apart_avx2<2, 4>(w, x, out, begin, end);
  if (is_large && rows == 3) return multiply_apart_avx2<3, 3>(w, x, out, begin, end);
  if (is_large && rows == 4) return multiply_apart_avx2<4, 3>(w, x, out, begin, end);
  const std::int64_t step = rows == 1 ? end - begin : columns_in_cache(w.inner, 12);
  for (; begin < end; begin += step) {
    const std::int64_t last = std::min(begin + step, end);
    std::int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
      // With the last four rows, when nothing else is read from memory.
      multiply_rows_avx2<4, 3>(w, x + i * w.inner, out + i * w.columns, begin, last,
                               i > 0 && i + 8 > rows ? end : last);
    }
    for (; i + 2 <= rows; i += 2) {
      multiply_rows_avx2<2, 4>(w, x + i * w.inner, out + i * w.columns, begin, last, last);
    }
    if (i == rows) continue;
    const float* const row = x + i * w.inner;
    float* const to = out + i * w.columns;
    if (is_whole) {
      multiply_one_row(row, w.data + begin * w.stride, w.stride, last - begin, w.inner, to + begin);
    } else {
      multiply_rows_avx2<1, 4>(w, row, to, begin, last, last);
    }
  }
}

/// Products of `rows` rows with `columns` columns of weights: a weight is converted once for all
/// rows.
template <int rows, int columns>
TENON_CPU_AOTI_AVX512 [[gnu::always_inline]] inline void multiply_block(
    const Int8Weights& w, const float* x, float* out, std::int64_t column) noexcept {
  constexpr std::int64_t lanes = 16;
  const std::int8_t* const weight = w.data + column * w.stride;
  __m512 sums[rows][columns];
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < rows; ++i) {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < columns; ++j) sums[i][j] = _mm512_setzero_ps();
  }
  std::int64_t k = 0;
  for (; k + lanes <= w.inner; k += lanes) {
    __m512 right[columns];
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < columns; ++j) {
      const auto* const from = reinterpret_cast<const __m128i*>(weight + j * w.stride + k);
      right[j] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from)));
    }
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < rows; ++i) {
      const __m512 left = _mm512_loadu_ps(x + i * w.inner + k);
      TENON_CPU_AOTI_UNROLL
      for (int j = 0; j < columns; ++j) sums[i][j] = _mm512_fmadd_ps(left, right[j], sums[i][j]);
    }
  }
  if (k < w.inner) {
    const auto mask = static_cast<__mmask16>((1u << (w.inner - k)) - 1);
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < columns; ++j) {
      const __m128i from = _mm_maskz_loadu_epi8(mask, weight + j * w.stride + k);
      const __m512 right = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(from));
      TENON_CPU_AOTI_UNROLL
      for (int i = 0; i < rows; ++i) {
        const __m512 left = _mm512_maskz_loadu_ps(mask, x + i * w.inner + k);
        sums[i][j] = _mm512_fmadd_ps(left, right, sums[i][j]);
      }
    }
  }
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < rows; ++i) {
    TENON_CPU_AOTI_UNROLL
    for (int j = 0; j < columns; ++j) {
      out[i * w.columns + column + j] = _mm512_reduce_add_ps(sums[i][j]);
    }
  }
}

/// The product of one row with one column of weights. A single row takes as long as its weights
/// take to be read from memory, and processors fetch ahead along one column; several columns at
/// once, with a new start after every few lines, were read at less than half of that rate.
TENON_CPU_AOTI_AVX512 [[gnu::always_inline]] inline void multiply_column(
    const Int8Weights& w, const float* x, float* out, std::int64_t column) noexcept {
  constexpr std::int64_t lanes = 16;
  constexpr int parts = 4;
  const std::int8_t* const weight = w.data + column * w.stride;
  __m512 sums[parts];
  TENON_CPU_AOTI_UNROLL
  for (int i = 0; i < parts; ++i) sums[i] = _mm512_setzero_ps();
  std::int64_t k = 0;
  for (; k + parts * lanes <= w.inner; k += parts * lanes) {
    TENON_CPU_AOTI_UNROLL
    for (int i = 0; i < parts; ++i) {
      const auto* const from = reinterpret_cast<const __m128i*>(weight + k + i * lanes);
      const __m512 right = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from)));
      sums[i] = _mm512_fmadd_ps(_mm512_loadu_ps(x + k + i * lanes), right, sums[i]);
    }
  }
  for (; k < w.inner; k += lanes) {
    const std::int64_t left = w.inner - k < lanes ? w.inner - k : lanes;
    const auto mask = static_cast<__mmask16>((1u << left) - 1);
    const __m128i from = _mm_maskz_loadu_epi8(mask, weight + k);
    const __m512 right = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(from));
    sums[0] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, x + k), right, sums[0]);
  }
  const __m512 first = _mm512_add_ps(sums[0], sums[1]);
  out[column] = _mm512_reduce_add_ps(_mm512_add_ps(first, _mm512_add_ps(sums[2], sums[3])));
}

template <int rows>
TENON_CPU_AOTI_AVX512 [[gnu::always_inline]] inline void multiply_rows(const Int8Weights& w,
                                                                       const float* x, float* out,
                                                                       std::int64_t begin,
                                                                       std::int64_t end) noexcept {
  std::int64_t j = begin;
  for (; j + 4 <= end; j += 4) multiply_block<rows, 4>(w, x, out, j);
  for (; j < end; ++j) multiply_block<rows, 1>(w, x, out, j);
}

TENON_CPU_AOTI_AVX512 void multiply_avx512(const Int8Weights& w, const float* x, std::int64_t rows,
                                           float* out, std::int64_t begin,
                                           std::int64_t end) noexcept {
  for (; rows >= 4; rows -= 4, x += 4 * w.inner, out += 4 * w.columns) {
    multiply_rows<4>(w, x, out, begin, end);
  }
  for (; rows > 0; --rows, x += w.inner, out += w.columns) {
    for (std::int64_t j = begin; j < end; ++j) multiply_column(w, x, out, j);
  }
}

#endif

}  // namespace

void multiply(const Int8Weights& w, const float* x, std::int64_t rows, float* out,
              VectorLevel level) noexcept {
  auto* chosen = multiply_anywhere;
#if defined(__x86_64__)
  if (level >= VectorLevel::avx512) {
    chosen = multiply_avx512;
  } else if (level >= VectorLevel::avx2) {
    chosen = multiply_avx2;
  }
#else
  static_cast<void>(level);
#endif
  in_parts(w.columns, 32, bytes_read(w.columns * w.inner, rows),
           [&](std::int64_t begin, std::int64_t end) { chosen(w, x, rows, out, begin, end); });
}

namespace {

/// self [M, K] times weights [N, K] of Char; scales [N] have the type of `self`.
Status int8pack_mm(const ModelTensor& self, const ModelTensor& weights, const ModelTensor& scales,
                   ModelTensor** ret0) {
  if (self.rank != 2 || weights.rank != 2 || scales.rank != 1 ||
      self.sizes[1] != weights.sizes[1] || scales.sizes[0] != weights.sizes[0]) {
    return error(Error::InvalidArgument, "an input ", shape_text(self.shape()), ", weights ",
                 shape_text(weights.shape()), " and scales ", shape_text(scales.shape()),
                 ": expected [M, K], [N, K] and [N]");
  }
  if (weights.scalar_type != ScalarType::Char || scales.scalar_type != self.scalar_type) {
    return error(Error::InvalidType, "weights of ", name_of(weights.scalar_type), " and scales of ",
                 name_of(scales.scalar_type), ": expected Char, and ", name_of(self.scalar_type),
                 ", the type of the input");
  }
  TENON_RETURN_IF_ERROR(with_real_type(self.scalar_type, []<class T>(T) { return ok(); }));
  if (weights.strides[1] != 1 && weights.sizes[1] > 1) {
    return error(Error::InvalidArgument, "weights with stride ", weights.strides[1],
                 " within a row: expected 1");
  }
  const std::int64_t columns = weights.sizes[0];
  const std::int64_t shape[] = {self.sizes[0], columns};
  TENON_TRY(OwnedTensor out, new_tensor(shape, nullptr, self.scalar_type));
  TENON_TRY(const FloatRows x, FloatRows::of(self));
  TENON_TRY(const FloatResult result, FloatResult::of(*out));
  TENON_TRY(const Scratch factors, Scratch::of(columns * std::int64_t{sizeof(float)}));
  multiply({weights.as<const std::int8_t>(), columns, self.sizes[1], weights.strides[0]}, x.data(),
           self.sizes[0], result.data(), vector_level());
  TENON_RETURN_IF_ERROR(aoti::cancel_flag().check());
  to_floats(scales.shape(), scales.scalar_type, {scales.data, scales.strides.data()},
            factors.as<float>());
  for (std::int64_t i = 0; i < self.sizes[0]; ++i) {
    float* const row = result.data() + i * columns;
    for (std::int64_t j = 0; j < columns; ++j) row[j] *= factors.as<float>()[j];
  }
  result.round_to(*out);
  *ret0 = out.take();
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu__weight_int8pack_mm(ModelTensor* self, ModelTensor* mat2,
                                             ModelTensor* scales, ModelTensor** ret0) noexcept {
  return shim_call("_weight_int8pack_mm", [&] { return int8pack_mm(*self, *mat2, *scales, ret0); });
}

}  // namespace tenon::cpu_aoti
