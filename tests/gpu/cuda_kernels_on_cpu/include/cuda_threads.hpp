// SPDX-License-Identifier: MIT
//
// As much of CUDA C++ as the backend's kernels use, for the host's compiler: the threads of a block
// are fibers of one thread, so a variable in shared memory is a static one. Warps have 32 lanes,
// which meet in the exchange of the Metal stand-in's simdgroups. It shows indices, bounds and
// numbers, nothing about races, speed or CUB. Instructions without a function in CUDA C++ are in
// cuda_instructions.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "include/stand_in_threads.hpp"

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)

namespace cuda_threads {

struct Index {
  unsigned x, y, z;
};

/// The functions by which a thread waits for others, and the thread that runs. Set before a kernel
/// starts, and by each thread again when it has waited.
inline const tenon_stand_in::Host* host = nullptr;
inline const tenon_stand_in::Thread* current = nullptr;

inline Index index_of(const unsigned (&values)[3]) { return {values[0], values[1], values[2]}; }

/// For tests of this emulation: so many of each thread's first barriers do nothing.
inline unsigned ignored_barriers = 0;
inline std::array<unsigned, 1024> barriers_reached;  ///< By each thread of the block.

inline void begin(const tenon_stand_in::Thread& thread) {
  current = &thread;
  barriers_reached[thread.thread_index_in_threadgroup[0]] = 0;
}

inline void synchronize() {
  const tenon_stand_in::Thread* const mine = current;
  if (++barriers_reached[mine->thread_index_in_threadgroup[0]] <= ignored_barriers) return;
  host->barrier();
  current = mine;
}

/// The value that lane `lane ^ distance` gave. All lanes of the warp must take part.
template <class T>
T shuffle_xor(T value, int distance) {
  const tenon_stand_in::Thread* const mine = current;
  unsigned lane = 0;
  const tenon_stand_in::Exchange* const all = host->exchange(&value, sizeof value, &lane);
  current = mine;
  T out;
  std::memcpy(&out, all->values[lane ^ static_cast<unsigned>(distance)], sizeof out);
  return out;
}

}  // namespace cuda_threads

#define threadIdx (cuda_threads::index_of(cuda_threads::current->thread_position_in_threadgroup))
#define blockIdx (cuda_threads::index_of(cuda_threads::current->threadgroup_position_in_grid))

inline void __syncthreads() { cuda_threads::synchronize(); }
template <class T>
T __shfl_xor_sync(unsigned, T value, int distance) {
  return cuda_threads::shuffle_xor(value, distance);
}

/// Byte i of the result is the one of `high:low` that bits 4 i to 4 i + 2 of `selector` number.
inline std::uint32_t __byte_perm(std::uint32_t low, std::uint32_t high, std::uint32_t selector) {
  const std::uint64_t both = std::uint64_t{high} << 32 | low;
  std::uint32_t out = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned byte = selector >> (4 * i) & 7u;
    out |= static_cast<std::uint32_t>(both >> (8 * byte) & 0xffu) << (8 * i);
  }
  return out;
}

namespace cub {

/// A plain sort in place of CUB's, by one thread of the block.
template <class Item, int threads, int items_per_thread>
class BlockMergeSort {
 public:
  struct TempStorage {
    Item items[threads * items_per_thread];
  };
  explicit BlockMergeSort(TempStorage& storage) : storage_(storage) {}

  template <class Less>
  void Sort(Item (&items)[items_per_thread], Less less) {
    const unsigned thread = threadIdx.x;
    Item* const own = storage_.items + thread * items_per_thread;
    std::copy_n(items, items_per_thread, own);
    __syncthreads();
    if (thread == 0) std::sort(std::begin(storage_.items), std::end(storage_.items), less);
    __syncthreads();
    std::copy_n(own, items_per_thread, items);
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub
