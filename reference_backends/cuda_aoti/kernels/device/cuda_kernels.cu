// SPDX-License-Identifier: MIT
//
// The device code without the copies, as one module. This file has the launched functions, the
// headers their implementation.
#include "../function_names.hpp"
#include "../philox.hpp"
#include "matmul.cuh"
#include "sort.cuh"

namespace kernels = tenon::cuda_aoti::kernels;

#define TENON_DEFINE_MATMUL(name, Format)                                                   \
  extern "C" __global__ void __launch_bounds__(kernels::Rows<kernels::Format>::one_threads, \
                                               kernels::Rows<kernels::Format>::one_blocks)  \
      tenon_##name##_one(const kernels::MatmulArguments arguments) {                        \
    kernels::Rows<kernels::Format>::one(arguments);                                         \
  }                                                                                         \
  extern "C" __global__ void __launch_bounds__(kernels::Rows<kernels::Format>::few_threads) \
      tenon_##name##_few(const kernels::MatmulArguments arguments) {                        \
    kernels::Rows<kernels::Format>::few(arguments);                                         \
  }                                                                                         \
  extern "C" __global__ void __launch_bounds__(kernels::matmul_tile_threads)                \
      tenon_##name##_tiles(const kernels::MatmulArguments arguments) {                      \
    kernels::tiles<kernels::Format>(arguments);                                             \
  }                                                                                         \
  extern "C" __global__ void __launch_bounds__(kernels::unpack_threads)                     \
      tenon_##name##_unpack(const kernels::MatmulArguments arguments) {                     \
    kernels::unpack_weight<kernels::Format>(arguments);                                     \
  }
TENON_CUDA_MATMULS(TENON_DEFINE_MATMUL)

#define TENON_DEFINE_NARROW(name, Format)                                                   \
  extern "C" __global__ void __launch_bounds__(kernels::Rows<kernels::Format>::one_threads, \
                                               kernels::Rows<kernels::Format>::one_blocks)  \
      tenon_##name##_one_narrow(const kernels::MatmulArguments arguments) {                 \
    kernels::Rows<kernels::Format>::one_narrow(arguments);                                  \
  }
TENON_CUDA_PLAIN_MATMULS(TENON_DEFINE_NARROW)

extern "C" __global__ void __launch_bounds__(kernels::sum_threads)
    tenon_matmul_sum(const kernels::MatmulArguments arguments) {
  kernels::sum_parts(arguments);
}

#define TENON_DEFINE_SORT(name, Item)                                              \
  extern "C" __global__ void __launch_bounds__(kernels::sort_short_threads)        \
      tenon_sort_short_##name(const kernels::SortArguments arguments) {            \
    kernels::sort_one_tile<kernels::Item, kernels::sort_short_threads>(arguments); \
  }                                                                                \
  extern "C" __global__ void __launch_bounds__(kernels::sort_threads)              \
      tenon_sort_tiles_##name(const kernels::SortArguments arguments) {            \
    kernels::sort_one_tile<kernels::Item, kernels::sort_threads>(arguments);       \
  }                                                                                \
  extern "C" __global__ void __launch_bounds__(kernels::sort_threads)              \
      tenon_sort_merge_##name(const kernels::SortArguments arguments) {            \
    kernels::merge_runs<kernels::Item>(arguments);                                 \
  }
TENON_CUDA_SORTS(TENON_DEFINE_SORT)

extern "C" __global__ void __launch_bounds__(kernels::random_threads)
    tenon_rand(const kernels::RandomArguments a) {
  const int per_block = kernels::rand_per_block(a.scalar_type);
  const std::int64_t block =
      static_cast<std::int64_t>(blockIdx.x) * kernels::random_threads + threadIdx.x;
  const std::int64_t first = block * per_block;
  if (first >= a.numel) return;
  const std::int64_t left = a.numel - first;
  const kernels::RandomWords words =
      kernels::random_block(a.state->seed, a.state->drawn + static_cast<std::uint64_t>(block));
  kernels::write_uniform(words, a.scalar_type, a.out, first,
                         left < per_block ? static_cast<int>(left) : per_block);
}

extern "C" __global__ void __launch_bounds__(kernels::random_threads)
    tenon_randint(const kernels::RandomArguments a) {
  const std::int64_t block =
      static_cast<std::int64_t>(blockIdx.x) * kernels::random_threads + threadIdx.x;
  const std::int64_t first = block * kernels::randint_per_block;
  if (first >= a.numel) return;
  const std::int64_t left = a.numel - first;
  const kernels::RandomWords words =
      kernels::random_block(a.state->seed, a.state->drawn + static_cast<std::uint64_t>(block));
  kernels::write_integers(
      words, a.scalar_type, a.low, a.range, a.out, first,
      left < kernels::randint_per_block ? static_cast<int>(left) : kernels::randint_per_block);
}

/// Runs after the numbers on the same stream, when all their threads have read the state.
extern "C" __global__ void tenon_random_advance(kernels::RandomState* state, std::uint64_t blocks) {
  state->drawn += blocks;
}
