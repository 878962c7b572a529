// SPDX-License-Identifier: MIT
#pragma once

#include "../weight_formats.hpp"
#include "instructions.cuh"
#include "plain_rows.cuh"

namespace tenon::cuda_aoti::kernels {

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

/// A warp computes `few_rows_limit` elements of one column: each weight is unpacked once, by one
/// lane.
__device__ inline void packed_rows(const MatmulArguments& a) {
  const int column = static_cast<int>(blockIdx.x) * few_rows_warps + static_cast<int>(threadIdx.y);
  if (column >= a.weights.columns) return;
  const int lane = static_cast<int>(threadIdx.x);
  float sums[few_rows_limit] = {};
  for (int chunk = lane; chunk < a.weights.depth / weights_per_chunk; chunk += 32) {
    float weight[weights_per_chunk];
    Int4Packed::chunk(a.weights, column, chunk, weight);
    TENON_UNROLL
    for (int row = 0; row < few_rows_limit; ++row) {
      if (row < a.rows) {
        sums[row] += dot_chunk(a.self + row * a.self_row_stride + chunk * weights_per_chunk, weight,
                               a.self_vector_loads != 0);
      }
    }
  }
  TENON_UNROLL
  for (int row = 0; row < few_rows_limit; ++row) {
    for (int distance = 16; distance > 0; distance /= 2) {
      sums[row] += __shfl_xor_sync(0xffffffffu, sums[row], distance);
    }
    if (lane == 0 && row < a.rows) {
      a.out[place(row, a.weights.columns, column)] = float_to_bfloat16(sums[row]);
    }
  }
}

/// A block computes the eight columns of a row of tiles, whose words are adjacent in the order of a
/// warp's lanes: lane L has a word of column L / 4 for each 32 of the depth. The warps share the
/// depth.
__device__ inline void packed_row(const MatmulArguments& a) {
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
      const Scaling scaling =
          Int4Packed::scaling(Int4Packed::load_scaling(a.weights, first_column + lane / 4, k));
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

/// The kernels for one row and for a few, the threads of their blocks, and how many blocks of the
/// first a multiprocessor must have registers for.
template <class Format>
struct Rows {
  static constexpr int one_threads = OneRowBlock::threads;
  static constexpr int one_blocks = 2;
  static constexpr int few_threads = FewRowsBlock::threads;
  static __device__ void one(const MatmulArguments& a) { plain_rows<Format, OneRowBlock, 1>(a); }
  static __device__ void one_narrow(const MatmulArguments& a) {
    plain_rows<Format, OneRowNarrowBlock, 1>(a);
  }
  static __device__ void few(const MatmulArguments& a) {
    plain_rows<Format, FewRowsBlock, few_rows_limit>(a);
  }
};

template <>
struct Rows<Int4Packed> {
  static constexpr int one_threads = few_rows_warps * 32;
  static constexpr int one_blocks = 1;
  static constexpr int few_threads = one_threads;
  static __device__ void one(const MatmulArguments& a) { packed_row(a); }
  static __device__ void few(const MatmulArguments& a) { packed_rows(a); }
};

/// Rows of shared memory are padded, so that the eight rows of a matrix of `load_matrices` are in
/// different banks.
inline constexpr int step_row = matmul_step + 8;

/// One operand of one step along the depth: rows of `self`, or columns of the weight.
struct alignas(16) Operand {
  std::uint16_t values[matmul_tile][step_row];
};

/// `self` is copied two steps ahead, the weight is unpacked one step ahead.
inline constexpr int self_stages = 3;
inline constexpr int weight_stages = 2;

struct Stages {
  Operand self[self_stages];
  Operand weight[weight_stages];
};
static_assert(sizeof(Stages) == matmul_tile_shared_bytes, "what the host counts with");

/// Begins to copy the rows of `self` of one step, with zeroes beyond the depth. Beyond the last row
/// nothing is copied: a row of products depends on its own row alone, and is not written. Rows that
/// are not aligned to 16 bytes are copied in the ordinary way.
__device__ inline void load_self(const MatmulArguments& a, Operand& to, std::int64_t first_row,
                                 int step) {
  constexpr int parts = matmul_step / 8;
  TENON_UNROLL
  for (int i = 0; i < matmul_tile * parts / matmul_tile_threads; ++i) {
    const int piece = static_cast<int>(threadIdx.x) + i * matmul_tile_threads;
    const std::int64_t row = first_row + piece / parts;
    const int k = step * matmul_step + piece % parts * 8;
    if (row >= a.rows) continue;
    const bool is_there = k < a.weights.depth;
    const std::uint16_t* from = is_there ? a.self + row * a.self_row_stride + k : a.self;
    std::uint16_t* const at = &to.values[piece / parts][piece % parts * 8];
    if (a.self_vector_loads != 0) {
      copy_async(at, from, is_there);
    } else {
      *reinterpret_cast<Words4*>(at) = is_there ? load_eight(from, false) : Words4{};
    }
  }
}

/// 32 weights, rounded to bfloat16.
struct UnpackedChunk {
  Words4 words[weights_per_chunk / 8];
};

__device__ inline UnpackedChunk rounded(const float (&weight)[weights_per_chunk]) {
  UnpackedChunk out;
  TENON_UNROLL
  for (int i = 0; i < weights_per_chunk / 2; ++i) {
    out.words[i / 4].word[i % 4] = to_bfloat16_pair(weight[2 * i], weight[2 * i + 1]);
  }
  return out;
}

template <class Format>
__device__ inline UnpackedChunk unpack_chunk(const Weights& weights, const RawChunk& raw) {
  float weight[weights_per_chunk];
  Format::unpack(weights, raw, weight);
  return rounded(weight);
}

/// Neighbouring threads have the two chunks of a column's step, which are adjacent in memory.
inline constexpr int chunks_per_step = matmul_step / weights_per_chunk;
static_assert(matmul_tile * chunks_per_step == matmul_tile_threads, "a chunk for each thread");

inline constexpr int super_block_steps = super_block_chunks / chunks_per_step;

/// Loads a thread's part of the weight in one step, as it is in memory. Beyond the weight's end it
/// is some chunk within: what columns beyond the end get is not written, and `store_step` writes
/// zeroes for what is beyond the depth. Steps follow each other, from a `first` one on: the codes
/// of a super-block are loaded once, because each load of a warp is one of 16 columns.
template <class Format>
__device__ inline void load_weight(const Weights& weights, int first_column, int step, bool first,
                                   RawChunk& raw) {
  const int thread = static_cast<int>(threadIdx.x);
  const int last_column = weights.columns - 1;
  const int last_chunk = weights.depth / weights_per_chunk - 1;
  int column = first_column + thread / chunks_per_step;
  column = column < last_column ? column : last_column;
  int chunk = step * chunks_per_step + thread % chunks_per_step;
  chunk = chunk < last_chunk ? chunk : last_chunk;
  if constexpr (Format::has_codes) {
    if (weights.has_code_words != 0) {
      if (first || step % super_block_steps == 0) {
        Format::load_code_words(weights, column, chunk / super_block_chunks, raw);
      }
      return Format::load_numbers(weights, column, chunk, raw);
    }
  }
  raw = Format::load(weights, column, chunk);
}

template <class Format>
__device__ inline UnpackedChunk unpack_step(const Weights& weights, const RawChunk& raw, int step) {
  if constexpr (Format::has_codes) {
    if (weights.has_code_words != 0) {
      float weight[weights_per_chunk];
      const int chunk = step % super_block_steps * chunks_per_step +
                        static_cast<int>(threadIdx.x) % chunks_per_step;
      Format::unpack_group(Format::with_codes(weights, raw, chunk), weight);
      return rounded(weight);
    }
  }
  return unpack_chunk<Format>(weights, raw);
}

template <class Format>
__device__ inline void store_step(Operand& to, const Weights& weights, const RawChunk& raw,
                                  int step) {
  const int thread = static_cast<int>(threadIdx.x);
  const int in_step = thread % chunks_per_step;
  const bool is_there = step * chunks_per_step + in_step < weights.depth / weights_per_chunk;
  const UnpackedChunk chunk = unpack_step<Format>(weights, raw, step);
  Words4* const at =
      reinterpret_cast<Words4*>(&to.values[thread / chunks_per_step][in_step * weights_per_chunk]);
  TENON_UNROLL
  for (int i = 0; i < weights_per_chunk / 8; ++i) at[i] = is_there ? chunk.words[i] : Words4{};
}

/// A warp's 32 by 32 sums in fragments: of 16 rows and of 8 columns.
using WarpSums = float[2][4][4];

__device__ inline void multiply_step(const Operand& self, const Operand& weight, int row,
                                     int column, WarpSums& sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  TENON_UNROLL
  for (int k = 0; k < matmul_step; k += 16) {
    std::uint32_t a[2][4];
    std::uint32_t b[2][4];  // Each of 16 columns.
    TENON_UNROLL
    for (int i = 0; i < 2; ++i) {
      load_matrices(a[i], &self.values[row + 16 * i + lane % 16][k + lane / 16 * 8]);
      load_matrices(
          b[i], &weight.values[column + 16 * i + lane / 16 * 8 + lane % 8][k + lane / 8 % 2 * 8]);
    }
    TENON_UNROLL
    for (int i = 0; i < 2; ++i) {
      TENON_UNROLL
      for (int j = 0; j < 4; ++j) {
        multiply(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }
}

/// Two adjacent sums, written at once.
struct alignas(8) SumPair {
  float first, second;
};

/// Writes a tile's sums of a part of the depth: eight rows of 32 adjacent bytes at once.
__device__ inline void write_partial(const MatmulArguments& a, std::int64_t row, int column,
                                     const WarpSums& sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t columns = padded_columns(a.weights.columns);
  float* const part = a.partial + static_cast<std::int64_t>(blockIdx.z) * a.rows * columns;
  TENON_UNROLL
  for (int i = 0; i < 2; ++i) {
    TENON_UNROLL
    for (int half = 0; half < 2; ++half) {
      const std::int64_t r = row + 16 * i + 8 * half + lane / 4;
      if (r >= a.rows) continue;
      float* const to = part + r * columns + column + lane % 4 * 2;
      TENON_UNROLL
      for (int j = 0; j < 4; ++j) {
        *reinterpret_cast<SumPair*>(to + 8 * j) = {sums[i][j][2 * half], sums[i][j][2 * half + 1]};
      }
    }
  }
}

/// A block of four warps computes a tile of 64 by 64, each warp a quarter of it with tensor cores:
/// of the whole depth, or of the part that blockIdx.z numbers.
/// In each step the block multiplies what is in shared memory while the copies of the next two
/// steps of `self` and the loads of the next step's weight are under way, and then unpacks that.
template <class Format>
__device__ inline void tiles(const MatmulArguments& a) {
  __shared__ Stages stages;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * matmul_tile;
  const int first_column = static_cast<int>(blockIdx.y) * matmul_tile;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / 2 * 32;
  const int column = warp % 2 * 32;
  // Otherwise all products of a warp would be zero, as half of them are for up to 32 rows.
  const bool has_rows = first_row + row < a.rows;
  const int first = static_cast<int>(blockIdx.z) * a.steps_of_part;
  const int end_of_part = first + a.steps_of_part;
  const int end_of_depth = steps_of(a.weights.depth);
  const int end = end_of_part < end_of_depth ? end_of_part : end_of_depth;

  WarpSums sums = {};
  TENON_UNROLL
  for (int step = 0; step < self_stages - 1; ++step) {
    load_self(a, stages.self[step], first_row, first + step);
    commit_copies();
  }
  RawChunk raw{};
  load_weight<Format>(a.weights, first_column, first, true, raw);
  store_step<Format>(stages.weight[0], a.weights, raw, first);
  for (int step = first; step < end; ++step) {
    const int number = step - first;
    wait_for_copies<self_stages - 2>();
    // This step's operands are there, and all threads are done with the operands of the step
    // before, whose memory is overwritten next.
    __syncthreads();
    const int ahead = step + self_stages - 1;
    if (ahead < end) {
      load_self(a, stages.self[(number + self_stages - 1) % self_stages], first_row, ahead);
    }
    commit_copies();  // Also of nothing, because groups are counted.
    load_weight<Format>(a.weights, first_column, step + 1, false, raw);
    if (has_rows) {
      multiply_step(stages.self[number % self_stages], stages.weight[number % weight_stages], row,
                    column, sums);
    }
    store_step<Format>(stages.weight[(number + 1) % weight_stages], a.weights, raw, step + 1);
  }
  wait_for_copies<0>();
  if (a.partial != nullptr) {
    return write_partial(a, first_row + row, first_column + column, sums);
  }
  __syncthreads();

  // Through shared memory, so that a warp writes adjacent elements.
  auto& out = stages.self[0].values;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  TENON_UNROLL
  for (int i = 0; i < 2; ++i) {
    TENON_UNROLL
    for (int j = 0; j < 4; ++j) {
      TENON_UNROLL
      for (int part = 0; part < 4; ++part) {
        out[row + 16 * i + part / 2 * 8 + lane / 4][column + 8 * j + lane % 4 * 2 + part % 2] =
            float_to_bfloat16(sums[i][j][part]);
      }
    }
  }
  __syncthreads();
  for (int at = static_cast<int>(threadIdx.x); at < matmul_tile * matmul_tile;
       at += matmul_tile_threads) {
    const int r = at / matmul_tile;
    const int c = at % matmul_tile;
    if (first_row + r < a.rows && first_column + c < a.weights.columns) {
      a.out[place(first_row + r, a.weights.columns, first_column + c)] = out[r][c];
    }
  }
}

/// Four adjacent sums, read at once.
struct alignas(16) SumQuad {
  float values[sum_columns];
};

/// Adds the sums of the parts in their order, four columns by each thread, so that a product has
/// the same bits in every run.
__device__ inline void sum_parts(const MatmulArguments& a) {
  const std::int64_t columns = padded_columns(a.weights.columns);
  const std::int64_t at =
      (static_cast<std::int64_t>(blockIdx.x) * sum_threads + threadIdx.x) * sum_columns;
  const std::int64_t row = at / columns;
  if (row >= a.rows) return;
  const std::int64_t column = at - row * columns;
  const int parts = (steps_of(a.weights.depth) + a.steps_of_part - 1) / a.steps_of_part;
  float sums[sum_columns] = {};
  for (int part = 0; part < parts; ++part) {
    const SumQuad quad =
        *reinterpret_cast<const SumQuad*>(a.partial + part * a.rows * columns + at);
    TENON_UNROLL
    for (int i = 0; i < sum_columns; ++i) sums[i] += quad.values[i];
  }
  TENON_UNROLL
  for (int i = 0; i < sum_columns; ++i) {
    if (column + i < a.weights.columns) {
      a.out[row * a.weights.columns + column + i] = float_to_bfloat16(sums[i]);
    }
  }
}

/// Writes the weight as bfloat16 [columns, depth] to `out`, a chunk by each thread.
template <class Format>
__device__ inline void unpack_weight(const MatmulArguments& a) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * unpack_threads + threadIdx.x;
  const int chunks = a.weights.depth / weights_per_chunk;
  const std::int64_t column = at / chunks;
  if (column >= a.weights.columns) return;
  const UnpackedChunk chunk = unpack_chunk<Format>(
      a.weights,
      Format::load(a.weights, static_cast<int>(column), static_cast<int>(at - column * chunks)));
  Words4* const to = reinterpret_cast<Words4*>(a.out + at * weights_per_chunk);
  TENON_UNROLL
  for (int i = 0; i < weights_per_chunk / 8; ++i) to[i] = chunk.words[i];
}

}  // namespace tenon::cuda_aoti::kernels
