// SPDX-License-Identifier: MIT
#pragma once

#include <cub/block/block_merge_sort.cuh>

#include "../sort_items.hpp"

namespace tenon::cuda_aoti::kernels {

struct ItemLess {
  template <class Item>
  __device__ bool operator()(const Item& a, const Item& b) const {
    return a < b;
  }
};

/// A block of `kThreads` sorts a tile of `sort_items` elements of a row for each: into `runs_to`,
/// or into the result when that is null because the row has a single tile.
template <class Item, int kThreads>
__device__ inline void sort_one_tile(const SortArguments& sort) {
  using Sort = cub::BlockMergeSort<Item, kThreads, sort_items>;
  __shared__ typename Sort::TempStorage storage;
  constexpr int tile = kThreads * sort_items;
  const std::int64_t tiles = (sort.length + tile - 1) / tile;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) / tiles;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) % tiles * tile;
  const RowStarts starts = row_starts(sort, row);
  const int thread = static_cast<int>(threadIdx.x);

  // An item contains its index, so that elements can be assigned to threads in the best order for
  // loads.
  Item items[sort_items];
  TENON_UNROLL
  for (int i = 0; i < sort_items; ++i) {
    const std::int64_t at = first + i * kThreads + thread;
    items[i] = at < sort.length ? sort_item<Item>(sort, starts.self, at) : Item::last();
  }
  Sort(storage).Sort(items, ItemLess{});
  TENON_UNROLL
  for (int i = 0; i < sort_items; ++i) {
    const std::int64_t at = first + thread * sort_items + i;
    if (at >= sort.length) break;
    if (sort.runs_to == nullptr) {
      write_sorted(sort, starts, at, items[i].place());
    } else {
      static_cast<Item*>(sort.runs_to)[row * sort.length + at] = items[i];
    }
  }
}

/// A thread merges `sort_items` items.
template <class Item>
__device__ inline void merge_runs(const SortArguments& sort) {
  const std::int64_t parts = (sort.length + sort_items - 1) / sort_items;
  const std::int64_t part =
      static_cast<std::int64_t>(blockIdx.x) * sort_threads + static_cast<int>(threadIdx.x);
  if (part < sort.rows * parts) {
    merge_items<Item>(sort, part / parts, part % parts * sort_items);
  }
}

}  // namespace tenon::cuda_aoti::kernels
