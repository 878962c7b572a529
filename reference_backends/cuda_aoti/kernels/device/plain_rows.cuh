// SPDX-License-Identifier: MIT
#pragma once

#include "../weight_formats.hpp"
#include "instructions.cuh"

// Products of a few rows with weights of the plain formats. What limits them is how many
// instructions a weight costs, so the numbers are multiplied as integers, four with one
// instruction. The values of `self` become integers of 16 bits for that, in two bytes: a block does
// so once for its columns, in shared memory.
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

/// Values of `self` in shared memory at a time, of all rows. A row is a sequence of chunks, as a
/// column of the weight is.
inline constexpr int staged_values = 8192;

/// value = scale * (256 * high + low), where `scale` is a power of 2 for a chunk of 32 values:
/// exact for values of at least 1/64 of the largest one, and within 2^-14 of the largest for the
/// others. NaN in the place of what is not finite.
template <int kRows>
struct alignas(16) StagedRows {
  static constexpr int chunks = staged_values / kRows / weights_per_chunk;
  /// The bytes of a chunk, in 16 bytes at a time. Adjacent chunks are side by side, in different
  /// banks for a warp. The order is as in `PackedNumbers`.
  Words4 high[kRows][2][chunks];
  Words4 low[kRows][2][chunks];
  float sums[kRows][chunks][4];  ///< Of the values of each eight.
  float sum[kRows][chunks];
  float scale[kRows][chunks];
};

/// Added to a number below 2^15 it leaves the nearest integer in the lowest 16 bits.
inline constexpr float round_to_bits = 12582912.0f;

/// Four integers of 16 bits as their higher bytes, or their lower ones.
__device__ inline std::uint32_t bytes_of(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                         std::uint32_t d, std::uint32_t which) {
  const std::uint32_t selector = which | (which + 4) << 4;
  return __byte_perm(__byte_perm(a, b, selector), __byte_perm(c, d, selector), 0x5410);
}

/// Stores eight values of a row, if they are there. All lanes of a warp take part, four for a
/// chunk.
template <bool even_first, int kRows>
__device__ inline void stage_eight(StagedRows<kRows>& to, int row, int at, const Words4& words,
                                   bool is_there) {
  constexpr std::uint32_t exponent = 0x7f800000u;
  constexpr std::uint32_t one = 0x00800000u;  // In an exponent.
  std::uint32_t most = 14 * one;  // Smaller ones have no scale; their values lose digits.
  TENON_UNROLL
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t even = words.word[i] << 16 & exponent;
    const std::uint32_t odd = words.word[i] & exponent;
    most = most > even ? most : even;
    most = most > odd ? most : odd;
  }
  TENON_UNROLL
  for (int distance = 1; distance <= 2; distance *= 2) {
    const std::uint32_t other = __shfl_xor_sync(0xffffffffu, most, distance);
    most = most > other ? most : other;
  }
  // The largest integer is below 2^14.
  const float factor = float_of_bits((2 * 127 + 13) * one - most);
  const float scale = float_of_bits(most < exponent ? most - 13 * one : 0x7fc00000u);

  std::uint32_t low[8];
  std::uint32_t high[8];
  TENON_UNROLL
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t word = words.word[i / 2];
    const float value = float_of_bits(i % 2 == 0 ? word << 16 : word & 0xffff0000u);
    const std::uint32_t bits = bits_of_float(value * factor + round_to_bits);
    const int byte = byte_of_weight(even_first, i);
    low[byte] = bits;
    high[byte] = bits + 0x80u;  // So that the lower byte has a sign.
  }
  std::uint32_t upper[2];
  std::uint32_t lower[2];
  std::int32_t sum = 0;
  TENON_UNROLL
  for (int i = 0; i < 2; ++i) {
    upper[i] = bytes_of(high[4 * i], high[4 * i + 1], high[4 * i + 2], high[4 * i + 3], 1);
    lower[i] = bytes_of(low[4 * i], low[4 * i + 1], low[4 * i + 2], low[4 * i + 3], 0);
    sum += 256 * dot_bytes(upper[i], 0x01010101u, 0) + dot_bytes(lower[i], 0x01010101u, 0);
  }
  const int chunk = at / 4;
  const int eight = at % 4;
  const float of_eight = scale * static_cast<float>(sum);
  float of_chunk = of_eight;
  TENON_UNROLL
  for (int distance = 1; distance <= 2; distance *= 2) {
    of_chunk += __shfl_xor_sync(0xffffffffu, of_chunk, distance);
  }
  if (!is_there) return;
  TENON_UNROLL
  for (int i = 0; i < 2; ++i) {
    to.high[row][eight / 2][chunk].word[eight % 2 * 2 + i] = upper[i];
    to.low[row][eight / 2][chunk].word[eight % 2 * 2 + i] = lower[i];
  }
  to.sums[row][chunk][eight] = of_eight;
  if (eight != 0) return;
  to.sum[row][chunk] = of_chunk;
  to.scale[row][chunk] = scale;
}

/// Stores `chunks` chunks of `kRows` rows from `first_k` on; of rows beyond the last, zeroes.
template <class Block, bool even_first, int kRows>
__device__ inline void stage_rows(const MatmulArguments& a, StagedRows<kRows>& to, int first_k,
                                  int chunks) {
  const int thread = static_cast<int>(threadIdx.y * 32 + threadIdx.x);
  const int eights = chunks * 4;
  TENON_UNROLL
  for (int row = 0; row < kRows; ++row) {
    const bool is_there = row < a.rows;
    const std::uint16_t* const from = a.self + row * a.self_row_stride + first_k;
    for (int at = thread; at - thread % 32 < eights; at += Block::threads) {
      Words4 words{};
      if (is_there && at < eights) words = load_eight(from + at * 8, a.self_vector_loads != 0);
      stage_eight<even_first>(to, row, at, words, at < eights);
    }
  }
}

/// Adds the products of one chunk of a column with the rows. It is of one group, or each eight has
/// one.
template <class Format, bool one_group, int kRows>
__device__ inline void add_chunk(const RawChunk& raw, const StagedRows<kRows>& self, int chunk,
                                 float (&sums)[kRows]) {
  constexpr int scalings = one_group ? 1 : 4;
  const PackedNumbers numbers = Format::numbers(raw);
  Scaling scaling[scalings];
  TENON_UNROLL
  for (int i = 0; i < scalings; ++i) scaling[i] = Format::scaling(raw, i);
  TENON_UNROLL
  for (int row = 0; row < kRows; ++row) {
    const float scale = self.scale[row][chunk];
    std::int32_t high[scalings] = {};
    std::int32_t low[scalings] = {};
    float of_self[scalings] = {};
    TENON_UNROLL
    for (int half = 0; half < 2; ++half) {
      const Words4 upper = self.high[row][half][chunk];
      const Words4 lower = self.low[row][half][chunk];
      TENON_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int at = one_group ? 0 : half * 2 + i / 2;
        high[at] = dot_bytes(numbers.word[half * 4 + i], upper.word[i], high[at]);
        low[at] = dot_bytes(numbers.word[half * 4 + i], lower.word[i], low[at]);
      }
    }
    if constexpr (one_group) {
      of_self[0] = self.sum[row][chunk];
    } else {
      TENON_UNROLL
      for (int i = 0; i < scalings; ++i) of_self[i] = self.sums[row][chunk][i];
    }
    TENON_UNROLL
    for (int i = 0; i < scalings; ++i) {
      // Scales first: a sum of unscaled products of large values may be infinite.
      sums[row] += scaling[i].scale * scale * static_cast<float>(256 * high[i] + low[i]);
      sums[row] -= scaling[i].scale * scaling[i].zero * of_self[i];
    }
  }
}

/// Adds the products of `chunks` chunks from `first` on of a warp's columns with what is staged of
/// the rows.
template <class Format, bool one_group, int kColumns, int kRows>
__device__ inline void add_chunks(const Weights& weights, const StagedRows<kRows>& self, int first,
                                  int chunks, int first_column, float (&sums)[kColumns][kRows]) {
  const int last_column = weights.columns - 1;
  for (int chunk = static_cast<int>(threadIdx.x); chunk < chunks; chunk += 32) {
    RawChunk raw[kColumns];
    TENON_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      const int column = first_column + i;
      raw[i] = Format::template load<one_group>(
          weights, column < last_column ? column : last_column, first + chunk);
    }
    TENON_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      add_chunk<Format, one_group>(raw[i], self, chunk, sums[i]);
    }
  }
}

/// A block computes `kRows` elements of its columns, a warp of one or two of them; a lane has
/// chunks of all columns of its warp, so that what it reads of `self` serves them all.
template <class Format, class Block, int kRows>
__device__ inline void plain_rows(const MatmulArguments& a) {
  __shared__ StagedRows<kRows> self;
  const int lane = static_cast<int>(threadIdx.x);
  constexpr int columns = Block::warp_columns;
  const int first_column =
      static_cast<int>(blockIdx.x) * Block::columns + static_cast<int>(threadIdx.y) * columns;
  const int last_column = a.weights.columns - 1;
  const int all_chunks = a.weights.depth / weights_per_chunk;
  float sums[columns][kRows] = {};
  for (int first = 0; first < all_chunks; first += StagedRows<kRows>::chunks) {
    const int left = all_chunks - first;
    const int chunks = left < StagedRows<kRows>::chunks ? left : StagedRows<kRows>::chunks;
    if (first > 0) __syncthreads();
    stage_rows<Block, Format::even_first>(a, self, first * weights_per_chunk, chunks);
    __syncthreads();
    if (a.weights.group_shift >= 5) {
      add_chunks<Format, true>(a.weights, self, first, chunks, first_column, sums);
    } else {
      add_chunks<Format, false>(a.weights, self, first, chunks, first_column, sums);
    }
  }
  TENON_UNROLL
  for (int i = 0; i < columns; ++i) {
    TENON_UNROLL
    for (int row = 0; row < kRows; ++row) {
      for (int distance = 16; distance > 0; distance /= 2) {
        sums[i][row] += __shfl_xor_sync(0xffffffffu, sums[i][row], distance);
      }
      if (lane == 0 && row < a.rows && first_column + i <= last_column) {
        a.out[place(row, a.weights.columns, first_column + i)] = float_to_bfloat16(sums[i][row]);
      }
    }
  }
}

}  // namespace tenon::cuda_aoti::kernels
