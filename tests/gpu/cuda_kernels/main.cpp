// SPDX-License-Identifier: MIT
#include <cstdio>

#include "gpu.hpp"

/// Runs every kernel on the first CUDA device and compares it with its reference on the CPU.
/// Exit codes: 0 success, 1 something differs or failed, 77 without a device (Meson: skipped).
int main() {
  const std::string why_not = gpu_test::gpu().open();
  if (!why_not.empty()) {
    std::printf("skipped, nothing was run: %s\n", why_not.c_str());
    return 77;
  }
  std::printf("device: %s\n", gpu_test::gpu().name().c_str());
  const struct {
    const char* name;
    void (*run)();
  } parts[] = {{"quantised products", gpu_test::test_products},
               {"products by cuBLASLt", gpu_test::test_library_products},
               {"stable sort", gpu_test::test_sorting},
               {"random numbers", gpu_test::test_random_numbers}};
  for (const auto& part : parts) {
    const int before = gpu_test::failures();
    part.run();
    std::printf("%s: %d failures\n", part.name, gpu_test::failures() - before);
  }
  return gpu_test::failures() == 0 ? 0 : 1;
}
