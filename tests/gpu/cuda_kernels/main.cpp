// SPDX-License-Identifier: MIT
#include <cstdio>
#include <string>
#include <string_view>

#include "gpu.hpp"

/// Runs every kernel on the first CUDA device and compares it with its reference on the CPU. Prints
/// a line for each part: outcome (pass, fail, not available), name and details, with tabs between.
///
/// With --times it compares nothing and prints what they cost, a JSON object in each line
/// (`print_times`).
///
/// usage: cuda-gpu-test [--times] [--cublaslt FILE]
/// Exit codes: 0 nothing differs or failed, 1 something did, 2 usage, 77 without a device (Meson:
/// skipped).
int main(int argc, char** argv) {
  const bool is_times = argc > 1 && argv[1] == std::string_view("--times");
  const int first = is_times ? 2 : 1;
  if (argc == first + 2 && argv[first] == std::string_view("--cublaslt")) {
    gpu_test::gpu().set_cublaslt(argv[first + 1]);
  } else if (argc != first) {
    std::fprintf(stderr, "usage: cuda-gpu-test [--times] [--cublaslt FILE]\n");
    return 2;
  }
  const std::string why_not = gpu_test::gpu().open();
  if (!why_not.empty()) {
    std::printf("skipped, nothing was run: %s\n", why_not.c_str());
    return 77;
  }
  if (is_times) return gpu_test::print_times() ? 0 : 1;
  std::printf("device: %s\n", gpu_test::gpu().name().c_str());
  const struct {
    const char* name;
    void (*run)();
  } parts[] = {{"quantised products", gpu_test::test_products},
               {"products by cuBLASLt", gpu_test::test_library_products},
               {"stable sort", gpu_test::test_sorting},
               {"random numbers", gpu_test::test_random_numbers},
               {"copies between layouts", gpu_test::test_copies}};
  for (const auto& part : parts) {
    const int before = gpu_test::failures();
    part.run();
    const std::string reason = gpu_test::take_reason();
    const int failed = gpu_test::failures() - before;
    const char* const outcome = failed != 0 ? "fail" : reason.empty() ? "pass" : "not available";
    std::printf("%s\t%s\t%s\n", outcome, part.name,
                failed != 0 ? (std::to_string(failed) + " failures").c_str() : reason.c_str());
    std::fflush(stdout);
  }
  return gpu_test::failures() == 0 ? 0 : 1;
}
