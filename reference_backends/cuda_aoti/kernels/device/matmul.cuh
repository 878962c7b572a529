// SPDX-License-Identifier: MIT
#pragma once

#include <cuda_bf16.h>
#include <mma.h>

#include "../weight_formats.hpp"

namespace tenon::cuda_aoti::kernels {

/// Eight values from `x` on. A load of 16 bytes needs an alignment that a view may lack.
__device__ inline Words4 load_eight(const std::uint16_t* x, bool vector_loads) {
  if (vector_loads) return load_words(x, 0);
  Words4 words;
  TENON_UNROLL
  for (int i = 0; i < 4; ++i) {
    words.word[i] = x[2 * i] | static_cast<std::uint32_t>(x[2 * i + 1]) << 16;
  }
  return words;
}

/// Sum of 32 products.
__device__ inline float dot_chunk(const std::uint16_t* x, const float (&weight)[weights_per_chunk],
                                  bool vector_loads) {
  float sum = 0.0f;
  TENON_UNROLL
  for (int part = 0; part < 4; ++part) {
    const Words4 words = load_eight(x + part * 8, vector_loads);
    TENON_UNROLL
    for (int i = 0; i < 4; ++i) {
      sum += float_of_bits(words.word[i] << 16) * weight[part * 8 + 2 * i];
      sum += float_of_bits(words.word[i] & 0xffff0000u) * weight[part * 8 + 2 * i + 1];
    }
  }
  return sum;
}

/// A warp computes `kRows` elements of one column: each weight is unpacked once, by one lane.
template <class Format, int kRows>
__device__ inline void few_rows(const MatmulArguments& a) {
  const int column = static_cast<int>(blockIdx.x) * few_rows_warps + static_cast<int>(threadIdx.y);
  if (column >= a.weights.columns) return;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * kRows;
  const std::uint16_t* self = a.self + first * a.self_row_stride;
  const int lane = static_cast<int>(threadIdx.x);
  float sums[kRows] = {};
  for (int chunk = lane; chunk < a.weights.depth / weights_per_chunk; chunk += 32) {
    float weight[weights_per_chunk];
    Format::chunk(a.weights, column, chunk, weight);
    TENON_UNROLL
    for (int row = 0; row < kRows; ++row) {
      if (first + row < a.rows) {
        sums[row] += dot_chunk(self + row * a.self_row_stride + chunk * weights_per_chunk, weight,
                               a.self_vector_loads != 0);
      }
    }
  }
  TENON_UNROLL
  for (int row = 0; row < kRows; ++row) {
    for (int distance = 16; distance > 0; distance /= 2) {
      sums[row] += __shfl_xor_sync(0xffffffffu, sums[row], distance);
    }
    if (lane == 0 && first + row < a.rows) {
      a.out[place(first + row, a.weights.columns, column)] = float_to_bfloat16(sums[row]);
    }
  }
}

template <class Format>
__device__ inline void one_row(const MatmulArguments& a) {
  few_rows<Format, 1>(a);
}

/// A block computes the eight columns of a row of tiles, whose words are adjacent in the order of a
/// warp's lanes: lane L has a word of column L / 4 for each 32 of the depth. The warps share the
/// depth.
template <>
__device__ inline void one_row<Int4Packed>(const MatmulArguments& a) {
  __shared__ float sums[few_rows_warps][packed_row_columns];
  const int lane = static_cast<int>(threadIdx.x);
  const int warp = static_cast<int>(threadIdx.y);
  const int first_k = lane % 4 * 2;
  const std::int32_t pairs = a.weights.inner_k_tiles / 2;
  const std::int32_t tiles = a.weights.depth / (a.weights.inner_k_tiles * 16);
  const int first_column = static_cast<int>(blockIdx.x) * packed_row_columns;
  const bool vector_loads = pairs == 4 && reinterpret_cast<std::uintptr_t>(a.weights.low) % 16 == 0;
  float sum = 0.0f;
  for (std::int32_t tile = warp; tile < tiles; tile += few_rows_warps) {
    const std::int64_t at = (place(blockIdx.x, tiles, tile) * 32 + lane) * pairs;
    Words4 words{};
    if (vector_loads) {
      words = load_words(a.weights.low, at * 4);
    } else {
      for (int i = 0; i < pairs; ++i) words.word[i] = element<std::uint32_t>(a.weights.low, at + i);
    }
    TENON_UNROLL
    for (int i = 0; i < 4; ++i) {
      if (i == pairs) break;
      const std::int32_t k = (tile * pairs + i) * weights_per_chunk;
      const Scaling scaling = Int4Packed::scaling(a.weights, first_column + lane / 4, k);
      TENON_UNROLL
      for (int j = 0; j < 8; ++j) {
        const int in_chunk = first_k + j % 2 + j / 2 * 8;
        sum += bfloat16_to_float(a.self[k + in_chunk]) *
               Int4Packed::weight(words.word[i], in_chunk, scaling);
      }
    }
  }
  for (int distance = 2; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  if (lane % 4 == 0) sums[warp][lane / 4] = sum;
  __syncthreads();
  if (warp != 0 || lane >= packed_row_columns) return;
  sum = 0.0f;
  TENON_UNROLL
  for (int i = 0; i < few_rows_warps; ++i) sum += sums[i][lane];
  a.out[first_column + lane] = float_to_bfloat16(sum);
}

/// Rows of shared memory are padded, so that their banks differ.
inline constexpr int step_row = weights_per_chunk + 8;
inline constexpr int sums_row = matmul_tile + 4;

/// The operands of one step along the depth.
struct alignas(32) TileStep {
  __nv_bfloat16 self[matmul_tile][step_row];
  __nv_bfloat16 weight[matmul_tile][step_row];  // [column][depth]
};

/// Half of the threads load a row of `self` each, the others unpack a column of the weight.
template <class Format>
__device__ inline void load_step(const MatmulArguments& a, TileStep& step, std::int64_t first_row,
                                 int first_column, int chunk) {
  const int thread = static_cast<int>(threadIdx.x) % matmul_tile;
  if (static_cast<int>(threadIdx.x) < matmul_tile) {
    const std::int64_t row = first_row + thread;
    Words4* to = reinterpret_cast<Words4*>(step.self[thread]);
    const std::uint16_t* x = a.self + row * a.self_row_stride + chunk * weights_per_chunk;
    TENON_UNROLL
    for (int part = 0; part < 4; ++part) {
      to[part] = row < a.rows ? load_eight(x + part * 8, a.self_vector_loads != 0) : Words4{};
    }
  } else {
    const int column = first_column + thread;
    float weight[weights_per_chunk] = {};
    if (column < a.weights.columns) Format::chunk(a.weights, column, chunk, weight);
    TENON_UNROLL
    for (int i = 0; i < weights_per_chunk; ++i) {
      step.weight[thread][i] = __float2bfloat16_rn(weight[i]);
    }
  }
}

/// A block of four warps computes a tile of 64 by 64, each warp a quarter of it with tensor cores.
template <class Format>
__device__ inline void tiles(const MatmulArguments& a) {
  namespace wmma = nvcuda::wmma;
  __shared__ TileStep step;
  alignas(32) __shared__ float sums[matmul_tile][sums_row];
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * matmul_tile;
  const int first_column = static_cast<int>(blockIdx.y) * matmul_tile;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / 2 * 32;
  const int column = warp % 2 * 32;

  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
  for (auto& line : sum) {
    for (auto& part : line) wmma::fill_fragment(part, 0.0f);
  }
  for (int chunk = 0; chunk < a.weights.depth / weights_per_chunk; ++chunk) {
    load_step<Format>(a, step, first_row, first_column, chunk);
    __syncthreads();
    TENON_UNROLL
    for (int k = 0; k < weights_per_chunk; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> self[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> weight[2];
      TENON_UNROLL
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(self[i], &step.self[row + 16 * i][k], step_row);
        wmma::load_matrix_sync(weight[i], &step.weight[column + 16 * i][k], step_row);
      }
      TENON_UNROLL
      for (int i = 0; i < 2; ++i) {
        TENON_UNROLL
        for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], self[i], weight[j], sum[i][j]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      wmma::store_matrix_sync(&sums[row + 16 * i][column + 16 * j], sum[i][j], sums_row,
                              wmma::mem_row_major);
    }
  }
  __syncthreads();
  for (int at = static_cast<int>(threadIdx.x); at < matmul_tile * matmul_tile;
       at += matmul_tile_threads) {
    const int r = at / matmul_tile;
    const int c = at % matmul_tile;
    if (first_row + r < a.rows && first_column + c < a.weights.columns) {
      a.out[place(first_row + r, a.weights.columns, first_column + c)] =
          float_to_bfloat16(sums[r][c]);
    }
  }
}

}  // namespace tenon::cuda_aoti::kernels
