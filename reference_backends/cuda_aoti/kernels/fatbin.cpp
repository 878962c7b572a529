// SPDX-License-Identifier: MIT
#include "function_names.hpp"
#include "kernels.hpp"

#if TENON_CUDA_KERNELS
// The assembler puts nvcc's output between these (embed_fatbin.py).
extern "C" {
extern const std::byte tenon_cuda_fatbin[];
extern const std::byte tenon_cuda_fatbin_end[];
extern const char tenon_cuda_ptx[];
extern const char tenon_cuda_ptx_end[];
}
#endif

namespace tenon::cuda_aoti::kernels {
namespace {

#define TENON_MATMUL_NAMES(name, Format) \
  "tenon_" #name "_one", "tenon_" #name "_few", "tenon_" #name "_tiles", "tenon_" #name "_unpack",
#define TENON_NARROW_NAME(name, Format) "tenon_" #name "_one_narrow",
#define TENON_SORT_NAMES(name, Item) \
  "tenon_sort_short_" #name, "tenon_sort_tiles_" #name, "tenon_sort_merge_" #name,
constexpr const char* names[] = {TENON_CUDA_MATMULS(TENON_MATMUL_NAMES)
                                     TENON_CUDA_PLAIN_MATMULS(TENON_NARROW_NAME)
                                         TENON_CUDA_SORTS(TENON_SORT_NAMES) "tenon_matmul_sum",
                                 "tenon_copy_strided",
                                 "tenon_copy_transposed",
                                 "tenon_rand",
                                 "tenon_randint",
                                 "tenon_random_advance"};

}  // namespace

std::span<const char* const> functions() noexcept { return names; }

std::span<const std::byte> fatbin() noexcept {
#if TENON_CUDA_KERNELS
  return {tenon_cuda_fatbin, tenon_cuda_fatbin_end};
#else
  return {};
#endif
}

std::string_view ptx() noexcept {
#if TENON_CUDA_KERNELS
  return {tenon_cuda_ptx, tenon_cuda_ptx_end};
#else
  return {};
#endif
}

}  // namespace tenon::cuda_aoti::kernels
