// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/process/interposition.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/abi/extensions/threads.h"
#include "tenon/conformance/test.hpp"
#include "tenon/host/layers/scheduling/thread_pool.hpp"

/// Suite "pool": backends that compute on the application's threads (abi/extensions/threads.h).
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(pool)

namespace {

using Clock = std::chrono::steady_clock;
using Outputs = std::vector<std::vector<std::byte>>;

/// How a `ProbePool` does its work.
enum class Way {
  whole,             ///< One range, on the calling thread, which is the last worker.
  one_by_one,        ///< Up to eight, the last one first, one after the other on other threads.
  refuse,            ///< None: it fails.
  stop_after_first,  ///< The first grain; then it fails.
};

/// A pool that observes how it is used.
class ProbePool final : public host::ThreadPool {
 public:
  ProbePool(std::uint32_t threads, Way how, Clock::duration patience = std::chrono::seconds(2))
      : host::ThreadPool(threads), way(how), patience_(patience) {}

  Way way;
  std::atomic<bool> is_open = true;  ///< A call that may use the pool is going on.
  std::atomic<int> calls = 0;
  std::atomic<int> late_calls = 0;   ///< Of `parallel_for`, while no call that may is going on.
  std::atomic<int> running = 0;      ///< Calls that have not returned.
  std::atomic<bool> waited = false;  ///< A range ended only once another one had begun.

 private:
  tenon_status run(std::uint64_t n, std::uint64_t grain, const host::RangeTask& task) override {
    const OutsidePlugin outside;
    if (!is_open) {
      ++late_calls;
      return TENON_STATUS_INVALID_STATE;
    }
    ++calls;
    ++running;
    const tenon_status status = run_in(way, n, grain, task);
    --running;
    return status;
  }

  tenon_status run_in(Way how, std::uint64_t n, std::uint64_t grain, const host::RangeTask& task) {
    if (how == Way::one_by_one) return one_by_one(n, grain, task);
    if (how != Way::refuse) {
      const InsidePlugin inside;
      const std::uint32_t last = num_threads() - 1;
      const tenon_status status = task(last, 0, how == Way::whole ? n : std::min(n, grain));
      if (status != TENON_STATUS_OK || how == Way::whole) return status;
    }
    return TENON_STATUS_OUT_OF_RESOURCES;
  }

  tenon_status one_by_one(std::uint64_t n, std::uint64_t grain, const host::RangeTask& task) {
    const std::uint64_t grains = (n - 1) / grain + 1;
    const std::uint64_t each = (grains - 1) / 8 + 1;
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t ended = 0;
    tenon_status failure = TENON_STATUS_OK;
    std::vector<std::thread> threads;
    for (std::uint64_t i = (grains - 1) / each + 1; i-- > 0;) {
      const std::uint64_t begin = i * each * grain;
      const std::uint64_t end = grains - i * each <= each ? n : begin + each * grain;
      const auto worker = static_cast<std::uint32_t>(i % num_threads());
      threads.emplace_back([&, worker, begin, end] {
        const tenon_status status = task(worker, begin, end);
        const std::lock_guard lock(mutex);
        if (failure == TENON_STATUS_OK) failure = status;
        ++ended;
        changed.notify_all();
      });
      std::unique_lock lock(mutex);
      if (waited) continue;  // All at once from here on.
      waited = !changed.wait_for(lock, patience_, [&] { return ended == threads.size(); });
      if (failure != TENON_STATUS_OK) break;
    }
    for (std::thread& thread : threads) thread.join();
    return failure;
  }

  Clock::duration patience_;
};

/// The case of a backend that uses a pool.
class PooledCase {
 public:
  explicit PooledCase(Context& kit) : kit_(kit), live_(kit) {
    live_.boundary().watched().watch().watch_process(false);
    const auto method = live_.load();
    const Clock::time_point start = Clock::now();
    expected_ = live_.run(*method);
    duration_ = Clock::now() - start;
  }

  [[nodiscard]] std::unique_ptr<CaseMethod> load(const ProbePool& pool) {
    return live_.load({.layers = {pool}});
  }
  /// The first run of the case.
  [[nodiscard]] static Status run(CaseMethod& method) {
    return method.execute(method.runs().front());
  }
  /// The outputs of the case with `pool`.
  [[nodiscard]] Outputs outputs(const ProbePool& pool) { return live_.run(*load(pool)); }
  [[nodiscard]] const Outputs& expected() const noexcept { return expected_; }
  /// Longer than a range that does not wait for another one.
  [[nodiscard]] Clock::duration patience() const noexcept {
    return std::chrono::seconds(2) + 20 * duration_;
  }

  /// Ends the test where the backend did not use `pool`.
  void need_use(const ProbePool& pool) {
    if (pool.calls != 0) return;
    kit_.not_applicable(live_.boundary().watched().asked_threads
                            ? "the case is computed without the threads of the application"
                            : "the backend does not use " TENON_EXTENSION_THREADS);
  }

 private:
  Context& kit_;
  LiveCase live_;
  Outputs expected_;
  Clock::duration duration_{};
};

}  // namespace

TENON_CONFORMANCE_TEST("pool/division",
                       "a pool has another number of threads, and divides its work in another way",
                       "[pool][level-5][case][TN-THR-3][TN-THR-4]") {
  PooledCase pooled(kit);
  ProbePool one_by_one(2, Way::one_by_one, pooled.patience());
  const Outputs first = pooled.outputs(one_by_one);
  pooled.need_use(one_by_one);
  if (one_by_one.waited) {
    return kit.violated("TN-THR-4",
                        "a call of f did not return before another one had begun, as a pool that "
                        "runs them one after the other showed");
  }
  if (!kit.backend().deterministic) return;
  for (const std::uint32_t threads : {1U, 3U, 8U}) {
    for (const Way way : {Way::whole, Way::one_by_one}) {
      ProbePool pool(threads, way, pooled.patience());
      kit.expect("TN-THR-3", pooled.outputs(pool) == first, "with a pool of ", threads,
                 way == Way::whole ? " threads that makes one range" : " threads",
                 " the outputs differ from those with one of 2");
    }
  }
}

TENON_CONFORMANCE_TEST("pool/failure", "a pool fails, and works again",
                       "[pool][level-5][case][TN-THR-2][TN-EXE-3]") {
  PooledCase pooled(kit);
  ProbePool pool(2, Way::whole);
  const auto method = pooled.load(pool);
  kit.need(PooledCase::run(*method), "the case does not run");
  pooled.need_use(pool);
  const auto before = kit.need(method->output_bytes(), "the outputs of the case");
  for (const Way way : {Way::refuse, Way::stop_after_first}) {
    pool.way = way;
    const int calls = pool.calls;
    const Status outcome = PooledCase::run(*method);
    if (pool.calls != calls) {
      kit.expect("TN-THR-2", !outcome.ok(), "parallel_for failed, and execute succeeded");
    }
    pool.way = Way::whole;
    const Status next = PooledCase::run(*method);
    if (!next.ok()) {
      return kit.violated("TN-EXE-3", "after a run whose pool failed the next one failed with ",
                          describe(next));
    }
  }
  const auto fresh = pooled.expected().size() == 1 && kit.backend().deterministic;
  if (!fresh) return;
  const auto after = kit.need(method->output_bytes(), "the outputs of the case");
  kit.expect("TN-EXE-3", after == before, "after a run whose pool failed the outputs differ");
}

TENON_CONFORMANCE_TEST("pool/after", "a pool is used after the call that got it",
                       "[pool][level-5][case][TN-THR-1]") {
  PooledCase pooled(kit);
  ProbePool pool(2, Way::one_by_one, pooled.patience());
  auto method = pooled.load(pool);
  for (int i = 0; i < 3; ++i) {
    pool.is_open = true;
    kit.need(PooledCase::run(*method), "the case does not run");
    pool.is_open = false;
    kit.expect("TN-THR-1", pool.running == 0, "execute returned while parallel_for was running");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  method.reset();
  pooled.need_use(pool);
  kit.expect("TN-THR-1", pool.late_calls == 0, "parallel_for was called ", int{pool.late_calls},
             " times outside of the calls that got the pool");
}

}}}  // namespace tenon::TENON_RELEASE::conformance
