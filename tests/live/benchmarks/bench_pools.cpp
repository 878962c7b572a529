// SPDX-License-Identifier: MIT
//
// Two programs that run at once, each from a thread of its own: on one pool of the application, on
// a pool for each, and without one. How long both take, the CPU time, and how many threads compute.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tenon/host.hpp>
#include <tenon/host/async.hpp>
#include <tenon/host/discovery.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "loaded_method.hpp"

namespace {

namespace fs = std::filesystem;
using tenon::host::WorkerPool;

/// The nanoseconds that each thread of this process has computed (Linux).
std::map<std::string, std::uint64_t> thread_times() {
  std::map<std::string, std::uint64_t> out;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::ifstream(task.path() / "schedstat") >> out[task.path().filename().string()];
  }
  return out;
}

/// How many threads computed for more than 2 % of `wall` between the two.
int count_busy(const std::map<std::string, std::uint64_t>& before,
               const std::map<std::string, std::uint64_t>& after, double wall_ms) {
  return static_cast<int>(std::ranges::count_if(after, [&](const auto& thread) {
    const auto found = before.find(thread.first);
    const std::uint64_t start = found == before.end() ? 0 : found->second;
    return static_cast<double>(thread.second - start) / 1e6 > wall_ms / 50;
  }));
}

/// One way to run both methods, and what was measured.
struct Row {
  const char* name;
  tenon::bench::Loaded left, right;
  double least_ms = std::numeric_limits<double>::infinity();
  double least_cpu_ms = least_ms;
  int most_threads = 0;

  tenon::Status run(int left_runs, int right_runs) {
    const auto before = thread_times();
    const std::clock_t cpu_start = std::clock();
    const auto start = std::chrono::steady_clock::now();
    tenon::Status of_right;
    std::map<std::string, std::uint64_t> at_end;
    std::thread other([&] {
      for (int i = 0; of_right.ok() && i < right_runs; ++i) of_right = right.method->execute();
      at_end = thread_times();  // While this thread is there.
    });
    tenon::Status of_left;
    for (int i = 0; of_left.ok() && i < left_runs; ++i) of_left = left.method->execute();
    other.join();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    const auto cpu = static_cast<double>(std::clock() - cpu_start) * 1000 / CLOCKS_PER_SEC;
    TENON_RETURN_IF_ERROR(std::move(of_left));
    TENON_RETURN_IF_ERROR(std::move(of_right));
    for (auto& [id, time] : thread_times()) at_end[id] = std::max(at_end[id], time);
    least_ms = std::min(least_ms, took.count());
    least_cpu_ms = std::min(least_cpu_ms, cpu);
    most_threads = std::max(most_threads, count_busy(before, at_end, took.count()));
    return tenon::ok();
  }
};

struct Settings {
  std::vector<fs::path> programs, plugins;
  std::vector<int> runs = {20, 20};
  std::uint32_t threads = 2;
  int rounds = 30;
};

tenon::Status measure(const Settings& settings) {
  tenon::host::BackendRegistry registry;
  for (const fs::path& plugin : settings.plugins) {
    TENON_RETURN_IF_ERROR(registry.register_backend(plugin));
  }
  TENON_TRY(const auto shared, WorkerPool::create(settings.threads));
  TENON_TRY(const auto first, WorkerPool::create(settings.threads));
  TENON_TRY(const auto second, WorkerPool::create(settings.threads));
  std::vector<Row> rows;
  const auto add = [&](const char* name, const WorkerPool* left,
                       const WorkerPool* right) -> tenon::Status {
    Row row{name, {}, {}};
    TENON_TRY(row.left,
              tenon::bench::load(settings.programs[0], {.registry = &registry, .layers = {*left}}));
    TENON_TRY(row.right, tenon::bench::load(settings.programs[1],
                                            {.registry = &registry, .layers = {*right}}));
    rows.push_back(std::move(row));
    return tenon::ok();
  };
  TENON_RETURN_IF_ERROR(add("one pool", shared.get(), shared.get()));
  TENON_RETURN_IF_ERROR(add("two pools", first.get(), second.get()));
  TENON_RETURN_IF_ERROR(add("no pool", nullptr, nullptr));
  for (int round = 0; round < settings.rounds; ++round) {
    for (Row& row : rows) {
      TENON_RETURN_IF_ERROR(row.run(settings.runs[0], settings.runs[1]));
    }
  }
  std::printf("%u threads in a pool, %d and %d runs; the least of %d rounds\n", settings.threads,
              settings.runs[0], settings.runs[1], settings.rounds);
  for (const Row& row : rows) {
    std::printf("%-10s %9.2f ms, %9.2f ms of CPU, at most %d threads compute\n", row.name,
                row.least_ms, row.least_cpu_ms, row.most_threads);
  }
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Two programs at once, on one pool of threads and on two.");
  Settings settings;
  app.add_option("PROGRAM", settings.programs, "the two files to run")
      ->required()
      ->expected(2)
      ->check(CLI::ExistingFile);
  app.add_option("--plugin", settings.plugins, "a plugin that a program needs")
      ->check(CLI::ExistingFile);
  app.add_option("--runs", settings.runs, "runs of each in a round")->expected(2);
  app.add_option("--threads", settings.threads, "threads of a pool")->capture_default_str();
  app.add_option("--rounds", settings.rounds, "rounds in turn")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const tenon::Status status = measure(settings);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.text()).c_str());
  return status.ok() ? 0 : 1;
}
