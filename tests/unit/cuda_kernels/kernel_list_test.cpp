// SPDX-License-Identifier: MIT
#include <set>
#include <string>

#include "kernels.hpp"
#include "support/catch.hpp"

namespace {

#define NAME(name, parameters) #name,
const std::set<std::string> served = {TENON_CUDA_KERNEL_SHIMS(NAME)};
#undef NAME

}  // namespace

TEST_CASE("ExecuTorch's CUDA backend has the functions with kernels", "[cuda_kernels][S3.10]") {
  // executorch backends/cuda/runtime/shims, the .cu files.
  CHECK(served == std::set<std::string>{
                      "aoti_torch_cuda__weight_int4pack_mm", "aoti_torch_cuda_int4_plain_mm",
                      "aoti_torch_cuda_int5_plain_mm", "aoti_torch_cuda_int6_plain_mm",
                      "aoti_torch_cuda_int8_plain_mm", "aoti_torch_cuda_rand",
                      "aoti_torch_cuda_randint_low_out", "aoti_torch_cuda_sort_stable"});
}

TEST_CASE("the plugin has the operators that ExecuTorch's exporter accepts for CUDA",
          "[cuda_kernels][S3.10]") {
  // executorch backends/cuda/cuda_backend.py, get_supported_fallback_kernels. rand is exported by
  // its runtime, but not in this list.
  std::set<std::string> left = served;
  for (const std::string kernel :
       {"at::_ops::_weight_int4pack_mm::call", "at::_ops::sort_stable::call",
        "aoti_torch_cuda_randint_low_out", "executorch_cuda::int4_plain_mm",
        "aoti_torch_cuda_int4_plain_mm", "executorch_cuda::int5_plain_mm",
        "aoti_torch_cuda_int5_plain_mm", "executorch_cuda::int6_plain_mm",
        "aoti_torch_cuda_int6_plain_mm", "executorch_cuda::int8_plain_mm",
        "aoti_torch_cuda_int8_plain_mm"}) {
    std::string name = kernel;
    for (const std::string prefix : {"at::_ops::", "executorch_cuda::"}) {
      if (!kernel.starts_with(prefix)) continue;
      name = kernel.substr(prefix.size());
      name = "aoti_torch_cuda_" + name.substr(0, name.find("::"));
    }
    CAPTURE(kernel);
    CHECK(served.contains(name));
    left.erase(name);
  }
  CHECK(left == std::set<std::string>{"aoti_torch_cuda_rand"});
}
