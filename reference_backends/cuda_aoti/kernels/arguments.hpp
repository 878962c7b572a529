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
};

/// Weights of one column that are unpacked at once. A column has a whole number of them.
inline constexpr int weights_per_chunk = 32;

/// out[row, column] = sum over k of self[row, k] * weight[column, k], all bfloat16 except the
/// weight.
struct MatmulArguments {
  const std::uint16_t* self;
  std::uint16_t* out;  ///< [rows, columns], contiguous.
  std::int64_t rows;
  std::int64_t self_row_stride;    ///< Elements. The elements of a row are adjacent.
  std::int32_t self_vector_loads;  ///< 1 when every 16 bytes of a row are aligned to 16.
  Weights weights;
};

/// Warps of a block of the kernels for few rows of the packed format, and its columns: those of a
/// tile for one row, one for each warp for more.
inline constexpr int few_rows_warps = 4;
inline constexpr int packed_row_columns = 8;
/// Warps of a block of the kernels for few rows of the plain formats, and columns of a warp.
inline constexpr int plain_rows_warps = 8;
inline constexpr int plain_warp_columns = 2;
inline constexpr int plain_rows_columns = plain_rows_warps * plain_warp_columns;
inline constexpr int few_rows_at_once = 4;
inline constexpr int few_rows_limit = 16;  ///< More rows use tiles.
inline constexpr int matmul_tile = 64;     ///< Rows and columns of a tile.
inline constexpr int matmul_step = 64;     ///< Of the depth that a tile multiplies at once.
inline constexpr int matmul_tile_threads = 128;
inline constexpr int unpack_threads = 256;

inline constexpr int sort_threads = 256;
inline constexpr int sort_items = 8;  ///< Of a thread, in a tile and in a merge.
inline constexpr int sort_tile = sort_threads * sort_items;
/// A block of one warp sorts a row of up to `sort_short` elements.
inline constexpr int sort_short_threads = 32;
inline constexpr int sort_short = sort_short_threads * sort_items;
inline constexpr int sort_max_outer = 15;

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
