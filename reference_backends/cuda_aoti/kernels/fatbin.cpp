// SPDX-License-Identifier: MIT
#include "function_names.hpp"
#include "kernels.hpp"

#if TENON_CUDA_KERNELS
// The assembler puts nvcc's output between these (embed_fatbin.py).
extern "C" {
extern const std::byte cuda_kernels_fatbin[];
extern const std::byte cuda_kernels_fatbin_end[];
extern const char cuda_kernels_ptx[];
extern const char cuda_kernels_ptx_end[];
extern const std::byte copy_kernels_fatbin[];
extern const std::byte copy_kernels_fatbin_end[];
extern const char copy_kernels_ptx[];
extern const char copy_kernels_ptx_end[];
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
                                 "tenon_rand", "tenon_randint", "tenon_random_advance"};
constexpr const char* copy_names[] = {"tenon_copy_strided", "tenon_copy_transposed"};

}  // namespace

std::span<const char* const> functions(Module module) noexcept {
  if (module == Module::copies) return copy_names;
  return names;
}

std::span<const std::byte> fatbin([[maybe_unused]] Module module) noexcept {
#if TENON_CUDA_KERNELS
  if (module == Module::copies) return {copy_kernels_fatbin, copy_kernels_fatbin_end};
  return {cuda_kernels_fatbin, cuda_kernels_fatbin_end};
#else
  return {};
#endif
}

std::string_view ptx([[maybe_unused]] Module module) noexcept {
#if TENON_CUDA_KERNELS
  if (module == Module::copies) return {copy_kernels_ptx, copy_kernels_ptx_end};
  return {cuda_kernels_ptx, cuda_kernels_ptx_end};
#else
  return {};
#endif
}

}  // namespace tenon::cuda_aoti::kernels
