// SPDX-License-Identifier: MIT
// ExecuTorch's kernels as a plugin: for the operators that a program calls outside of its
// delegates.
#include <array>
#include <string_view>
#include <tenon/executorch/plugin.hpp>

namespace {

struct Kernels {
  static constexpr std::string_view id = "ExecutorchKernels";
  static constexpr std::string_view description = "ExecuTorch's optimized and quantized kernels";
  static constexpr std::string_view tags = "cpu,executorch";
  static constexpr std::array libraries{
      tenon::bridge::RegisteringLibrary{"libexecutorch_kernels_optimized.so", "aten::add.out"},
      tenon::bridge::RegisteringLibrary{"libexecutorch_kernels_quantized.so",
                                        "quantized_decomposed::add.out"}};
};

}  // namespace

TENON_EXECUTORCH_KERNELS(Kernels);
