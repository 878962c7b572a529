// SPDX-License-Identifier: MIT
#pragma once

#include "../arguments.hpp"

namespace tenon::cuda_aoti::kernels {

/// 16 bytes at once.
struct alignas(16) CopyQuad {
  std::uint64_t low, high;
};

/// Copies element `number`, in the order of the sizes. Below 2^31 elements indices are 32 bits, and
/// divisions are multiplications; offsets always are 64 bits.
template <class Element>
__device__ inline void copy_element(const CopyArguments& a, std::int64_t number) {
  std::int64_t from = 0;
  std::int64_t to = 0;
  if (a.is_large != 0) {
    for (int d = a.rank - 1; d >= 0; --d) {
      const std::int64_t left = number / a.sizes[d];
      const std::int64_t index = number - left * a.sizes[d];
      from += index * a.from_strides[d];
      to += index * a.to_strides[d];
      number = left;
    }
  } else {
    std::uint32_t rest = static_cast<std::uint32_t>(number);
    for (int d = a.rank - 1; d >= 0; --d) {
      const std::uint32_t left = a.divisors[d].quotient(rest);
      const std::uint32_t index = rest - left * static_cast<std::uint32_t>(a.sizes[d]);
      from += index * a.from_strides[d];
      to += index * a.to_strides[d];
      rest = left;
    }
  }
  static_cast<Element*>(a.to)[to] = static_cast<const Element*>(a.from)[from];
}

__device__ inline void copy_strided(const CopyArguments& a) {
  const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * copy_threads + threadIdx.x;
  if (number >= a.numel) return;
  switch (a.element_size) {
    case 1:
      return copy_element<std::uint8_t>(a, number);
    case 2:
      return copy_element<std::uint16_t>(a, number);
    case 4:
      return copy_element<std::uint32_t>(a, number);
    case 8:
      return copy_element<std::uint64_t>(a, number);
    default:
      return copy_element<CopyQuad>(a, number);
  }
}

/// The tile of a block: where it begins, and elements from there to the end.
struct CopyTile {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t size_of_last = 0;
  std::int64_t size_of_other = 0;  ///< Of `transposed`.
};

__device__ inline CopyTile tile_of_block(const CopyArguments& a, int side) {
  CopyTile out;
  const int last = a.rank - 1;
  std::int64_t rest = static_cast<std::int64_t>(blockIdx.x);
  for (int i = 0; i < a.rank; ++i) {
    // The last and the transposed dimension come first, so that consecutive blocks write near each
    // other.
    const int d = i == 0 ? last : i == 1 ? a.transposed : i - 2 < a.transposed ? i - 2 : i - 1;
    const std::int64_t step = i < 2 ? side : 1;
    const std::int64_t tiles = (a.sizes[d] + step - 1) / step;
    const std::int64_t left = rest / tiles;
    const std::int64_t first = (rest - left * tiles) * step;
    out.from += first * a.from_strides[d];
    out.to += first * a.to_strides[d];
    if (i == 0) out.size_of_last = a.sizes[d] - first;
    if (i == 1) out.size_of_other = a.sizes[d] - first;
    rest = left;
  }
  return out;
}

/// A block reads a tile of the last dimension and of `transposed`, adjacent elements of the latter
/// by adjacent threads, and writes adjacent elements of the former. `rows` are the tile.
template <class Element>
__device__ inline void copy_tile(const CopyArguments& a, Element* rows) {
  constexpr int side = copy_tile(static_cast<int>(sizeof(Element)));
  constexpr int pitch = side + 1;
  constexpr int at_once = copy_threads / side;
  const int last = a.rank - 1;
  const CopyTile tile = tile_of_block(a, side);
  const Element* const source = static_cast<const Element*>(a.from) + tile.from;
  Element* const target = static_cast<Element*>(a.to) + tile.to;
  const int lane = static_cast<int>(threadIdx.x) % side;
  const int first_row = static_cast<int>(threadIdx.x) / side;
  TENON_UNROLL
  for (int i = 0; i < side / at_once; ++i) {
    const int row = first_row + i * at_once;
    if (row < tile.size_of_last && lane < tile.size_of_other) {
      rows[row * pitch + lane] = source[row * a.from_strides[last] + lane];
    }
  }
  __syncthreads();
  const std::int64_t to_row = a.to_strides[a.transposed];
  const std::int64_t to_lane = a.to_strides[last];
  TENON_UNROLL
  for (int i = 0; i < side / at_once; ++i) {
    const int row = first_row + i * at_once;
    if (row < tile.size_of_other && lane < tile.size_of_last) {
      target[row * to_row + lane * to_lane] = rows[lane * pitch + row];
    }
  }
}

/// Copies a tile in words of two elements, with half of the loads and stores. The tile's rows with
/// even numbers are apart from the odd ones, in different banks for a warp.
__device__ inline void copy_pairs(const CopyArguments& a, std::uint32_t* rows) {
  constexpr int side = copy_tile(2);
  constexpr int words = side / 2;
  constexpr int pitch = words + 1;
  constexpr int at_once = copy_threads / words;
  const CopyTile tile = tile_of_block(a, side);
  const std::uint16_t* const source = static_cast<const std::uint16_t*>(a.from) + tile.from;
  std::uint16_t* const target = static_cast<std::uint16_t*>(a.to) + tile.to;
  const int lane = static_cast<int>(threadIdx.x) % words;
  const int first_row = static_cast<int>(threadIdx.x) / words;
  const std::int64_t from_row = a.from_strides[a.rank - 1];
  TENON_UNROLL
  for (int i = 0; i < side / at_once; ++i) {
    const int row = first_row + i * at_once;
    if (row < tile.size_of_last && 2 * lane < tile.size_of_other) {
      rows[(row / 2 + row % 2 * words) * pitch + lane] =
          *reinterpret_cast<const std::uint32_t*>(source + row * from_row + 2 * lane);
    }
  }
  __syncthreads();
  const std::int64_t to_row = a.to_strides[a.transposed];
  TENON_UNROLL
  for (int i = 0; i < words / at_once; ++i) {
    const int column = first_row + i * at_once;
    if (2 * column < tile.size_of_other && 2 * lane < tile.size_of_last) {
      const std::uint32_t even = rows[lane * pitch + column];
      const std::uint32_t odd = rows[(lane + words) * pitch + column];
      std::uint16_t* const to = target + 2 * column * to_row + 2 * lane;
      *reinterpret_cast<std::uint32_t*>(to) = (even & 0xffffu) | odd << 16;
      *reinterpret_cast<std::uint32_t*>(to + to_row) = even >> 16 | (odd & 0xffff0000u);
    }
  }
}

__device__ inline void copy_transposed(const CopyArguments& a) {
  __shared__ CopyQuad tile[copy_tile_bytes / sizeof(CopyQuad)];
  void* const rows = tile;
  switch (a.element_size) {
    case 1:
      return copy_tile(a, static_cast<std::uint8_t*>(rows));
    case 2:
      if (a.has_pairs != 0) return copy_pairs(a, static_cast<std::uint32_t*>(rows));
      return copy_tile(a, static_cast<std::uint16_t*>(rows));
    case 4:
      return copy_tile(a, static_cast<std::uint32_t*>(rows));
    case 8:
      return copy_tile(a, static_cast<std::uint64_t*>(rows));
    default:
      return copy_tile(a, static_cast<CopyQuad*>(rows));
  }
}

}  // namespace tenon::cuda_aoti::kernels
