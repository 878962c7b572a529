// SPDX-License-Identifier: MIT
//
// The C++ side of threads.py: threads PLUGIN.so MODEL.pte INPUT_BYTES THREADS SECONDS prints runs
// per second of THREADS threads, each with a method of its own. Inputs are zero. With a sixth
// argument, WINDOW_US, each thread has a core of its own (on Linux), and it prints how many runs
// ended in each window of that length in which all threads ran.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tenon/host.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Windows = std::map<std::int64_t, std::uint64_t>;

void run_on_core(std::size_t core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (pthread_setaffinity_np(pthread_self(), sizeof cores, &cores) != 0) std::abort();
}

Windows runs_by_window(tenon::host::Method& method, Clock::time_point end,
                       std::chrono::microseconds window) {
  std::vector<Clock::time_point> ends(1, Clock::now());
  while (ends.back() < end) {
    if (!method.execute().ok()) std::abort();
    ends.push_back(Clock::now());
  }
  Windows runs;
  for (const Clock::time_point at : ends) ++runs[at.time_since_epoch() / window];
  return runs;
}

void print_common(const std::vector<Windows>& threads) {
  for (const auto& [window, count] : threads.front()) {
    std::uint64_t total = 0;
    bool all = true;
    for (const Windows& runs : threads) {
      const auto found = runs.find(window);
      all = all && found != runs.end();
      total += all ? found->second : 0;
    }
    if (all) std::printf("%llu\n", static_cast<unsigned long long>(total));
  }
}

tenon::Status run(char** argv) {
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(argv[1]));
  TENON_TRY(const auto program, tenon::host::Program::open(argv[2]));
  TENON_TRY(const auto meta, host::MethodMeta::of(*program, "forward"));
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
  const auto end = start + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(std::strtod(argv[5], nullptr)));
  std::atomic<std::uint64_t> runs = 0;
  std::vector<std::thread> threads;
  if (argv[6]) {
    const std::chrono::microseconds window(std::strtoll(argv[6], nullptr, 10));
    std::vector<Windows> found(count);
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        run_on_core(i);
        found[i] = runs_by_window(*methods[i], end, window);
      });
    }
    for (std::thread& thread : threads) thread.join();
    print_common(found);
    return tenon::ok();
  }
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
  if (argc != 6 && argc != 7) {
    std::fputs("usage: threads PLUGIN.so MODEL.pte INPUT_BYTES THREADS SECONDS [WINDOW_US]\n",
               stderr);
    return 2;
  }
  const tenon::Status status = run(argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "threads: %s\n", tenon::describe(status).c_str());
  return 1;
}
