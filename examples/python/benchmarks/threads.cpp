// SPDX-License-Identifier: MIT
//
// The C++ side of threads.py: threads PLUGIN.so MODEL.pte INPUT_BYTES THREADS SECONDS prints runs
// per second of THREADS threads, each with a method of its own. Inputs are zero.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tenon/host.hpp"

namespace {

using Clock = std::chrono::steady_clock;

tenon::Status run(char** argv) {
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(argv[1]));
  TENON_TRY(const auto program, tenon::host::Program::open(argv[2]));
  TENON_TRY(const auto meta, program->method_meta("forward"));
  TENON_TRY(const auto input, meta.input_tensor_meta(0));
  const std::vector<std::int64_t> sizes(input.layout.sizes.begin(), input.layout.sizes.end());
  const std::vector<float> zeros(std::strtoull(argv[3], nullptr, 10) / sizeof(float));
  const auto count = std::strtoull(argv[4], nullptr, 10);
  std::vector<std::unique_ptr<tenon::host::Method>> methods;
  for (std::size_t i = 0; i < count; ++i) {
    TENON_TRY(methods.emplace_back(),
              tenon::host::Method::load(program, "forward", {.registry = &registry}));
    TENON_RETURN_IF_ERROR(methods.back()->set_input(
        0, {input.layout.scalar_type, sizes, std::as_bytes(std::span(zeros))}));
  }
  const auto start = Clock::now();
  const auto end = start + std::chrono::duration<double>(std::strtod(argv[5], nullptr));
  std::atomic<std::uint64_t> runs = 0;
  std::vector<std::thread> threads;
  for (const auto& method : methods) {
    threads.emplace_back([&runs, end, at = method.get()] {
      std::uint64_t mine = 0;
      for (; Clock::now() < end; ++mine) {
        if (!at->execute().ok()) std::abort();
      }
      runs += mine;
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("%.1f\n", static_cast<double>(runs) / seconds);
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: threads PLUGIN.so MODEL.pte INPUT_BYTES THREADS SECONDS\n", stderr);
    return 2;
  }
  const tenon::Status status = run(argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "threads: %s\n", tenon::describe(status).c_str());
  return 1;
}
