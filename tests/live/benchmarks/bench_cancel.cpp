// SPDX-License-Identifier: MIT
//
// Prints how long a run goes on after `Method::cancel`: of each program that is named, in JSON. The
// inputs are zeros of the largest sizes. Each run is cancelled at another time of its course.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tenon/host.hpp>
#include <tenon/host/discovery.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "loaded_method.hpp"

namespace {

namespace fs = std::filesystem;
using tenon::host::Method;
using Clock = std::chrono::steady_clock;

/// Runs a method in a thread of its own, which the time to start a thread would disturb.
class Runner {
 public:
  explicit Runner(Method& method) : method_(method), thread_([this] { work(); }) {}
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner() {
    is_done_ = true;
    wanted_.fetch_add(1);
    wanted_.notify_one();
    thread_.join();
  }

  /// Returns when the run begins. Does not sleep: a run may be shorter than that ends late.
  void begin() {
    const std::uint32_t run = wanted_.fetch_add(1) + 1;
    wanted_.notify_one();
    while (started_.load() != run) {
    }
  }
  struct Run {
    Clock::time_point begin, end;
    tenon::Error error = tenon::Error::Ok;
  };

  /// The run that was begun last, when it has ended.
  Run wait() {
    const std::uint32_t wanted = wanted_.load();
    for (std::uint32_t done = 0; (done = ended_.load()) != wanted;) ended_.wait(done);
    return run_;
  }

 private:
  void work() {
    for (std::uint32_t run = 0;; ++run) {
      wanted_.wait(run);
      if (is_done_) return;
      run_.begin = Clock::now();
      started_.store(run + 1);
      run_.error = method_.execute().error();
      run_.end = Clock::now();
      ended_.store(run + 1);
      ended_.notify_one();
    }
  }

  Method& method_;
  std::atomic<bool> is_done_ = false;
  std::atomic<std::uint32_t> wanted_ = 0;
  std::atomic<std::uint32_t> started_ = 0;
  std::atomic<std::uint32_t> ended_ = 0;
  Run run_;
  std::thread thread_;  // The last member: it uses the others.
};

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

tenon::Result<nlohmann::json> measure(const fs::path& path, int rounds,
                                      const tenon::host::BackendRegistry& registry) {
  TENON_TRY(
      tenon::bench::Loaded loaded,
      tenon::bench::load(path, {.registry = &registry, .layers = {tenon::host::Cancellation()}}));
  Runner runner(*loaded.method);
  Clock::duration whole = Clock::duration::max();
  for (int i = 0; i < 4; ++i) {
    runner.begin();
    const Runner::Run run = runner.wait();
    if (run.error != tenon::Error::Ok) {
      return tenon::error(run.error, path.string(), ": the run failed");
    }
    if (i > 0) whole = std::min(whole, run.end - run.begin);
  }
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    runner.begin();
    const auto moment = Clock::now() + whole * i / rounds;
    while (Clock::now() < moment) {
    }
    const Clock::time_point cancelled_at = Clock::now();
    TENON_RETURN_IF_ERROR(loaded.method->cancel());
    const Runner::Run run = runner.wait();
    if (run.error == tenon::Error::Cancelled) {
      times.push_back(microseconds(run.end - cancelled_at));
    }
  }
  nlohmann::json out{{"program", path.string()},
                     {"run_us", microseconds(whole)},
                     {"runs", rounds},
                     {"cancelled", times.size()}};
  if (times.empty()) return out;
  std::ranges::sort(times);
  out["median_us"] = times[times.size() / 2];
  out["p99_us"] = times[times.size() * 99 / 100];
  out["max_us"] = times.back();
  return out;
}

tenon::Status report(const std::vector<fs::path>& programs, const std::vector<fs::path>& plugins,
                     int rounds) {
  tenon::host::BackendRegistry registry;
  for (const fs::path& plugin : plugins) {
    TENON_RETURN_IF_ERROR(registry.register_backend(plugin));
  }
  for (const fs::path& program : programs) {
    TENON_TRY(const auto row, measure(program, rounds, registry));
    std::puts(row.dump().c_str());
  }
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("How long a run goes on after Method::cancel.");
  std::vector<fs::path> programs, plugins;
  int rounds = 1000;
  app.add_option("PROGRAM", programs, "files to run")->required()->check(CLI::ExistingFile);
  app.add_option("--plugin", plugins, "a plugin that a program needs")->check(CLI::ExistingFile);
  app.add_option("--rounds", rounds, "runs that are cancelled")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const tenon::Status status = report(programs, plugins, rounds);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.text()).c_str());
  return status.ok() ? 0 : 1;
}
