// SPDX-License-Identifier: MIT
//
// The device code, compiled for the CPU.
#include "device_code.hpp"

#include "cuda_instructions.hpp"
#include "cuda_threads.hpp"
#include "device/copy_kernels.cu"
#include "device/cuda_kernels.cu"

namespace gpu_test {
namespace {

using tenon_stand_in::Thread;

template <auto function, class Arguments>
void run(void* const* buffers, const Thread& thread) {
  cuda_threads::begin(thread);
  cuda_threads::own_copies() = {};
  function(*static_cast<const Arguments*>(buffers[0]));
}

void advance(void* const* buffers, const Thread& thread) {
  cuda_threads::begin(thread);
  tenon_random_advance(*static_cast<kernels::RandomState* const*>(buffers[0]),
                       *static_cast<const std::uint64_t*>(buffers[1]));
}

struct Entry {
  std::string_view name;
  tenon_stand_in::Kernel run;
};

#define ENTRY(name, Arguments) {#name, &run<&name, kernels::Arguments>},
#define MATMUL(name, Format)                 \
  ENTRY(tenon_##name##_one, MatmulArguments) \
  ENTRY(tenon_##name##_few, MatmulArguments) \
  ENTRY(tenon_##name##_tiles, MatmulArguments) ENTRY(tenon_##name##_unpack, MatmulArguments)
#define NARROW(name, Format) ENTRY(tenon_##name##_one_narrow, MatmulArguments)
#define SORT(name, Item)                        \
  ENTRY(tenon_sort_short_##name, SortArguments) \
  ENTRY(tenon_sort_tiles_##name, SortArguments) ENTRY(tenon_sort_merge_##name, SortArguments)
constexpr Entry entries[] = {
    TENON_CUDA_MATMULS(MATMUL) TENON_CUDA_PLAIN_MATMULS(NARROW) TENON_CUDA_SORTS(SORT)
        ENTRY(tenon_matmul_sum, MatmulArguments) ENTRY(tenon_copy_strided, CopyArguments)
            ENTRY(tenon_copy_transposed, CopyArguments) ENTRY(tenon_rand, RandomArguments)
                ENTRY(tenon_randint, RandomArguments){"tenon_random_advance", &advance}};

}  // namespace

tenon_stand_in::Kernel kernel_named(std::string_view name) {
  const auto* const found = std::find_if(std::begin(entries), std::end(entries),
                                         [&](const Entry& entry) { return entry.name == name; });
  return found == std::end(entries) ? nullptr : found->run;
}

}  // namespace gpu_test
