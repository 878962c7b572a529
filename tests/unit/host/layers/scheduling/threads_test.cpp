// SPDX-License-Identifier: MIT
//
// The application's threads: pools, and methods whose plugins compute on one.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "control_support.hpp"
#include "plugins/pooled/pooled.hpp"
#include "tenon/abi/static_plugin.h"
#include "tenon/host/async.hpp"

TENON_DECLARE_STATIC_PLUGIN(PooledLeft);

using namespace tenon;
using namespace tenon::test;
using host::WorkerPool;

namespace threads_test {

std::unique_ptr<WorkerPool> pool_of(std::uint32_t num_threads) {
  auto pool = WorkerPool::create(num_threads);
  INFO(pool.text());
  REQUIRE(pool.ok());
  return *std::move(pool);
}

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// The ranges that a pool makes, sorted.
Ranges ranges_of(host::ThreadPool& pool, std::uint64_t n, std::uint64_t grain) {
  Ranges out;
  std::mutex mutex;
  REQUIRE(pool.parallel_for(n, grain,
                            [&](std::uint64_t begin, std::uint64_t end) {
                              const std::lock_guard lock(mutex);
                              out.emplace_back(begin, end);
                            })
              .ok());
  std::sort(out.begin(), out.end());
  return out;
}

/// A method of one delegate with one input and one output.
std::unique_ptr<host::Method> pooled(const std::string& backend, const std::string& blob,
                                     const host::ThreadPool* threads) {
  static host::BackendRegistry registry;
  static const bool added = registry.register_backend(tenon_static_plugin_PooledLeft).ok();
  REQUIRE(added);
  host::MethodOptions options;
  options.registry = &registry;
  if (threads) options.layers.add(*threads);
  return one_delegate(backend, blob, std::move(options));
}

/// A pool of an application: on the calling thread, one grain after the other, from the last.
class BackwardPool final : public host::ThreadPool {
 public:
  explicit BackwardPool(std::vector<std::uint32_t> processors = {})
      : host::ThreadPool(1, std::move(processors)) {}
  bool throws = false;

 private:
  tenon_status run(std::uint64_t n, std::uint64_t grain, const host::RangeTask& task) override {
    if (throws) throw std::bad_alloc();
    for (std::uint64_t i = (n - 1) / grain + 1; i-- > 0;) {
      if (const auto status = task(0, i * grain, std::min(n, (i + 1) * grain))) return status;
    }
    return TENON_STATUS_OK;
  }
};

}  // namespace threads_test
using namespace threads_test;

TEST_CASE("a pool divides its work into ranges that begin at multiples of the grain",
          "[pool][threads]") {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint32_t num_threads : {1U, 2U, 5U}) {
    const auto pool = pool_of(num_threads);
    CHECK(pool->num_threads() == num_threads);
    CHECK(ranges_of(*pool, 0, 1).empty());
    for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{1000}, most}) {
      for (const std::uint64_t grain : {std::uint64_t{0}, std::uint64_t{3}, most / 2, most}) {
        const Ranges ranges = ranges_of(*pool, n, grain);
        std::uint64_t end = 0;
        for (const auto& range : ranges) {
          CHECK(range.first == end);
          CHECK(range.first % std::max(grain, std::uint64_t{1}) == 0);
          CHECK(range.second > range.first);
          end = range.second;
        }
        CHECK(end == n);
        CHECK(ranges.size() <= std::size_t{num_threads} * 4);
      }
    }
  }
}

TEST_CASE("a pool without threads is refused", "[pool]") {
  const auto pool = WorkerPool::create(0);
  REQUIRE_FALSE(pool.ok());
  CHECK(pool.error() == Error::InvalidArgument);
  CHECK(pool.text() == "a pool: expected 1 thread or more, found 0");
}

TEST_CASE("a pool of one computes on the calling thread", "[pool][threads]") {
  const auto pool = pool_of(1);
  const auto here = std::this_thread::get_id();
  int ranges = 0;
  REQUIRE(pool->parallel_for(10, 1,
                             [&](std::uint64_t, std::uint64_t) {
                               CHECK(std::this_thread::get_id() == here);
                               ++ranges;
                             })
              .ok());
  CHECK(ranges > 0);
}

TEST_CASE(
    "several threads share a pool, also from inside of calls, and no more compute than it has",
    "[pool][threads][TN-THR-5]") {
  for (const std::uint32_t num_threads : {1U, 2U, 3U}) {
    const auto pool = pool_of(num_threads);
    PooledRecord record;
    std::atomic<std::uint64_t> sum = 0;
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&] {
        for (int round = 0; round < 50; ++round) {
          const Status done = pool->parallel_for(8, 1, [&](std::uint64_t begin, std::uint64_t end) {
            return pool->parallel_for(end - begin, 1,
                                      [&, begin](std::uint64_t from, std::uint64_t to) {
                                        record.begin();
                                        for (std::uint64_t at = begin + from; at < begin + to; ++at)
                                          sum += at;
                                        record.end();
                                      });
          });
          if (!done.ok()) std::terminate();
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    CHECK(sum == 4 * 50 * 28);
    CHECK(record.most <= static_cast<int>(num_threads));
  }
}

TEST_CASE("calls that run at the same time have different workers, also where calls are nested",
          "[pool][threads][TN-THR-6]") {
  for (const std::uint32_t num_threads : {1U, 2U, 3U, 5U}) {
    const auto pool = pool_of(num_threads);
    std::atomic<int> wrong = 0;
    std::atomic<std::uint32_t> most = 0;
    /// A `parallel_for` whose calls take the place of their worker, and leave it.
    const auto work = [&](std::uint64_t n, const auto& inside) -> Status {
      std::vector<std::atomic<int>> taken(num_threads);
      return pool->parallel_for(
          n, 1, [&](std::uint32_t worker, std::uint64_t, std::uint64_t) -> Status {
            if (worker >= num_threads || taken[worker].exchange(1) != 0) {
              ++wrong;
              return ok();
            }
            std::uint32_t seen = most;
            while (seen < worker && !most.compare_exchange_weak(seen, worker)) {
            }
            Status done = inside();
            std::this_thread::yield();
            taken[worker] = 0;
            return done;
          });
    };
    const auto nothing = [] { return ok(); };
    std::vector<std::thread> callers;
    for (int i = 0; i < 3; ++i) {
      callers.emplace_back([&] {
        for (int round = 0; round < 100; ++round) {
          // In three layers: a thread that waits for the last ranges of one layer lends its place.
          const Status done = work(9, [&] { return work(4, [&] { return work(2, nothing); }); });
          if (!done.ok()) std::terminate();
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    CHECK(wrong == 0);
    CHECK(most < num_threads);
  }
}

TEST_CASE("without a pool the one worker is 0", "[pool]") {
  std::uint32_t seen = 7;
  REQUIRE(tenon::ThreadPool()
              .parallel_for(3, 1,
                            [&](std::uint32_t worker, std::uint64_t begin, std::uint64_t end) {
                              seen = worker;
                              CHECK(begin == 0);
                              CHECK(end == 3);
                            })
              .ok());
  CHECK(seen == 0);
}

TEST_CASE("a failure and an exception of one range end the work and reach the caller",
          "[pool][threads]") {
  const auto pool = pool_of(2);
  for (int round = 0; round < 20; ++round) {
    const Status failed = pool->parallel_for(100, 1, [](std::uint64_t begin, std::uint64_t) {
      return begin == 0 ? error(Error::AccessFailed, "range 0") : ok();
    });
    CHECK(failed.error() == Error::AccessFailed);
    CHECK(failed.text() == "range 0");
    CHECK_THROWS_AS(pool->parallel_for(100, 1,
                                       [](std::uint64_t begin, std::uint64_t) {
                                         if (begin == 0) throw std::out_of_range("range 0");
                                       }),
                    std::out_of_range);
  }
  CHECK(pool->parallel_for(100, 1, [](std::uint64_t, std::uint64_t) {}).ok());
}

TEST_CASE("a pool of an application may throw, and says where its threads run", "[pool]") {
  BackwardPool pool({2, 3});
  CHECK(pool.table()->num_processors == 2);
  CHECK(pool.table()->processors[1] == 3);
  CHECK(ranges_of(pool, 5, 2) == Ranges{{0, 2}, {2, 4}, {4, 5}});
  pool.throws = true;
  const Status failed = pool.parallel_for(5, 2, [](std::uint64_t, std::uint64_t) {});
  CHECK(failed.error() == Error::MemoryAllocationFailed);
  CHECK(failed.text() == "the thread pool failed in parallel_for and gave no reason");
}

TEST_CASE("without a pool a plugin computes on the calling thread", "[pool]") {
  pooled_record().most = 0;
  const auto method = pooled("PooledLeft", "rows 1", nullptr);
  CHECK(pooled_record().at_init == 0);
  REQUIRE(method->execute().ok());
  CHECK(pooled_record().at_run == 0);
  CHECK(pooled_record().most == 1);
  CHECK(floats(method->output(0)) == std::vector<float>{65, 66, 67, 68});
}

TEST_CASE("a method's plugins get its pool in init and execute", "[pool][threads]") {
  const auto pool = pool_of(3);
  BackwardPool backward;
  for (const char* blob : {"rows 1", "nested 1"}) {
    const auto method = pooled("PooledRight", blob, pool.get());
    CHECK(pooled_record().at_init == 3);
    REQUIRE(method->execute().ok());
    CHECK(pooled_record().at_run == 3);
    CHECK(floats(method->output(0)) == std::vector<float>{65, 66, 67, 68});
    const auto other = pooled("PooledRight", blob, &backward);
    REQUIRE(other->execute().ok());
    CHECK(pooled_record().at_run == 1);
    CHECK(floats(other->output(0)) == std::vector<float>{65, 66, 67, 68});
  }
}

TEST_CASE("a run fails with what failed on the pool, and the next one is whole",
          "[pool][threads]") {
  const auto pool = pool_of(2);
  const auto failing = pooled("PooledLeft", "fail", pool.get());
  const Status failed = failing->execute();
  CHECK(failed.error() == Error::AccessFailed);
  CHECK(failed.text() ==
        "method forward: instruction 0:0: delegate 0 (PooledLeft): execute: row 2");
  const auto throwing = pooled("PooledLeft", "throw", pool.get());
  const Status thrown = throwing->execute();
  CHECK(thrown.error() == Error::Internal);
  CHECK(thrown.text().find("row 2") != std::string_view::npos);
  CHECK(pooled("PooledLeft", "rows 1", pool.get())->execute().ok());
}

TEST_CASE("two methods of two backends on one pool of two never compute on more than two threads",
          "[pool][threads]") {
  const auto pool = pool_of(2);
  const auto left = pooled("PooledLeft", "rows 2000", pool.get());
  const auto right = pooled("PooledRight", "nested 2000", pool.get());
  pooled_record().most = 0;
  std::array<Status, 2> outcomes;
  const auto runs = [&](host::Method& method, Status& outcome) {
    for (int i = 0; i < 20 && outcome.ok(); ++i) outcome = method.execute();
  };
  std::thread other([&] { runs(*right, outcomes[1]); });
  runs(*left, outcomes[0]);
  other.join();
  CHECK(outcomes[0].ok());
  CHECK(outcomes[1].ok());
  CHECK(pooled_record().most <= 2);
  CHECK(floats(left->output(0)) == floats(right->output(0)));
}
