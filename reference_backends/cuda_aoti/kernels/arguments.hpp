// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// Arguments of the kernels. Compiled by nvcc and by the host's compiler, as C++17, the newest that
// nvcc of CUDA 11.8 supports; fixed-width members, so that both have the same layout.
#ifdef __CUDACC__
#define TENON_HOST_DEVICE __host__ __device__ __forceinline__
#define TENON_UNROLL _Pragma("unroll")
#else
#define TENON_HOST_DEVICE inline
#define TENON_UNROLL
#endif

namespace tenon::cuda_aoti::kernels {

/// A quantised weight of [columns, depth]. Its format defines which members are used
/// (weight_formats.hpp).
struct Weights {
  const void* low;         ///< All bits of a weight, or its lower four.
  const void* high;        ///< Its other bits.
  const void* scale;       ///< One for each group of a column.
  const void* scale_step;  ///< float16 [columns, depth / 256].
  const void* zero;
  const void* zero_step;
  std::int32_t columns;
  std::int32_t depth;          ///< Multiple of 32.
  std::int32_t group_shift;    ///< A group is 2^group_shift weights of a column.
  std::int32_t inner_k_tiles;  ///< Of the packed format.
  /// 1 where the codes of 256 weights can be loaded as words (`load_code_bytes`): groups have at
  /// least 32 weights, and the addresses of the codes are multiples of 4.
  std::int32_t has_code_words;
};

/// Weights of one column that are unpacked at once. A column has a whole number of them.
inline constexpr int weights_per_chunk = 32;

/// out[row, column] = sum over k of self[row, k] * weight[column, k], all bfloat16 except the
/// weight.
struct MatmulArguments {
  const std::uint16_t* self;
  std::uint16_t* out;  ///< [rows, columns], contiguous.
  /// Sums of parts of the depth, [parts, rows, `padded_columns`], aligned to 16; null where tiles
  /// write `out`.
  float* partial;
  std::int64_t rows;
  std::int64_t self_row_stride;    ///< Elements. The elements of a row are adjacent.
  std::int32_t self_vector_loads;  ///< 1 when every 16 bytes of a row are aligned to 16.
  std::int32_t steps_of_part;      ///< Of tiles, `matmul_step` of the depth each.
  Weights weights;
};

/// Warps of a block of the kernels for few rows of the packed format, and its columns: a tile's
/// columns for one row, one for each warp for more rows.
inline constexpr int few_rows_warps = 4;
inline constexpr int packed_row_columns = 8;
/// Warps of a block of the kernels for few rows of the plain formats, and columns of a warp.
template <int kWarps, int kWarpColumns>
struct PlainBlock {
  static constexpr int warps = kWarps;
  static constexpr int warp_columns = kWarpColumns;
  static constexpr int columns = kWarps * kWarpColumns;
  static constexpr int threads = kWarps * 32;
};
using FewRowsBlock = PlainBlock<8, 2>;
using OneRowBlock = PlainBlock<16, 2>;
/// The values of `self` that a block reads serve fewer columns, and more multiprocessors have work.
using OneRowNarrowBlock = PlainBlock<16, 1>;
/// Columns up to which the narrow kernel is used. On an H100 it takes 0.86 to 0.96 of the other's
/// time for 1024 and 4096 columns, 1.13 for 14336 (docs/measurements/h100.md).
inline constexpr int narrow_columns = 8192;
/// Rows that a block of the kernels for few rows computes. More rows use tiles: they take 0.7 of
/// the time of two times four rows, and 1.1 to 1.2 times as much as four rows do (the same page).
inline constexpr int few_rows_limit = 4;
inline constexpr int matmul_tile = 64;  ///< Rows and columns of a tile.
inline constexpr int matmul_step = 64;  ///< Of the depth that a tile multiplies at once.
inline constexpr int matmul_tile_threads = 128;
inline constexpr int matmul_tile_shared_bytes = 46080;
inline constexpr int sum_threads = 256;
inline constexpr int sum_columns = 4;  ///< Of a thread that adds the sums of parts.

/// Columns of `partial`: whole tiles.
TENON_HOST_DEVICE constexpr std::int64_t padded_columns(std::int32_t columns) {
  return (std::int64_t{columns} + matmul_tile - 1) / matmul_tile * matmul_tile;
}

TENON_HOST_DEVICE constexpr std::int32_t steps_of(std::int32_t depth) {
  return (depth + matmul_step - 1) / matmul_step;
}
inline constexpr int unpack_threads = 256;

inline constexpr int sort_threads = 256;
inline constexpr int sort_items = 8;  ///< Of a thread, in a tile and in a merge.
inline constexpr int sort_tile = sort_threads * sort_items;
/// A block of one warp sorts a row of up to `sort_short` elements.
inline constexpr int sort_short_threads = 32;
inline constexpr int sort_short = sort_short_threads * sort_items;
inline constexpr int sort_max_outer = 15;

inline constexpr int copy_threads = 256;
inline constexpr int copy_max_rank = 16;
/// Bytes of shared memory for a tile, whose rows have a gap.
inline constexpr int copy_tile_bytes = 32 * 33 * 16;

/// Elements of a side of a tile that is transposed.
TENON_HOST_DEVICE constexpr int copy_tile(int element_size) { return element_size <= 4 ? 64 : 32; }

/// Division of numbers below 2^31 by a constant, as one multiplication ("Division by Invariant
/// Integers using Multiplication", Granlund and Montgomery, 1994).
struct Divisor {
  std::uint32_t factor;
  std::uint32_t shift;

  /// `by` is from 1 to 2^31 - 1.
  static constexpr Divisor of(std::uint32_t by) noexcept {
    std::uint32_t shift = 0;
    while ((std::uint64_t{1} << shift) < by) ++shift;
    const std::uint64_t rest = (std::uint64_t{1} << shift) - by;
    return {static_cast<std::uint32_t>((rest << 32) / by + 1), shift};
  }
  TENON_HOST_DEVICE std::uint32_t quotient(std::uint32_t number) const {
    const auto high = static_cast<std::uint32_t>((std::uint64_t{number} * factor) >> 32);
    return (high + number) >> shift;
  }
};

/// A copy between two layouts of the same sizes, which do not overlap. Strides are in elements; the
/// strides of `to` decrease, so that adjacent threads write adjacent elements. Addresses are
/// aligned to an element.
struct CopyArguments {
  const void* from;
  void* to;
  std::int64_t numel;
  std::int32_t rank;
  std::int32_t element_size;  ///< 1, 2, 4, 8 or 16.
  std::int32_t is_large;      ///< 1 from 2^31 elements on, where `divisors` are not used.
  /// The dimension that is adjacent in `from`, where it is not the last one and both are long
  /// enough for tiles; -1 elsewhere.
  std::int32_t transposed;
  /// 1 where the elements of a transpose have two bytes, and pairs of them on both sides are words.
  std::int32_t has_pairs;
  std::int64_t sizes[copy_max_rank];
  std::int64_t from_strides[copy_max_rank];
  std::int64_t to_strides[copy_max_rank];
  Divisor divisors[copy_max_rank];  ///< Of the sizes.

  /// Whether the elements are adjacent on both sides, or there are none: a copy without a kernel.
  [[nodiscard]] bool is_adjacent() const noexcept {
    return rank == 0 || (rank == 1 && from_strides[0] == 1 && to_strides[0] == 1);
  }
};

/// Rows along one dimension of a tensor of any strides; all in elements.
struct SortArguments {
  const void* self;
  void* values;
  std::int64_t* indices;
  const void* runs_from;  ///< Sorted runs of the pass before, [rows, length] items.
  void* runs_to;          ///< Null in the last pass, which writes values and indices.
  std::int64_t rows;
  std::int64_t length;
  std::int64_t width;  ///< Of a run in `runs_from`.
  std::int32_t scalar_type;
  std::int32_t descending;
  std::int32_t outer_rank;
  std::int64_t self_step;  ///< From one element of a row to the next.
  std::int64_t values_step;
  std::int64_t indices_step;
  std::int64_t outer_sizes[sort_max_outer];
  std::int64_t self_outer[sort_max_outer];
  std::int64_t values_outer[sort_max_outer];
  std::int64_t indices_outer[sort_max_outer];
};

/// The position in a stream of random numbers, in device memory, so that a replayed CUDA graph
/// draws new numbers.
struct RandomState {
  std::uint64_t seed;
  std::uint64_t drawn;  ///< Counter blocks that were used.
};

inline constexpr int random_threads = 256;

struct RandomArguments {
  RandomState* state;
  void* out;  ///< Contiguous.
  std::int64_t numel;
  std::int64_t low;     ///< randint only, as is `range`.
  std::uint64_t range;  ///< Above 0.
  std::int32_t scalar_type;
};

}  // namespace tenon::cuda_aoti::kernels
