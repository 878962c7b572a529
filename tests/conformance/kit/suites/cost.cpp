// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/process/interposition.hpp"
#include "kit/process/resources.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"

/// Suite "cost": figures, to be compared with an older report. Only one is judged: the allocations
/// in a run, by the author's declaration.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(cost)

namespace {

/// Microseconds that `work` takes.
template <class Work>
[[nodiscard]] double microseconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

/// The least of `times` measurements.
template <class Work>
[[nodiscard]] double least_microseconds(int times, const Work& work) {
  double least = microseconds_of(work);
  for (int i = 1; i < times; ++i) least = std::min(least, microseconds_of(work));
  return least;
}

}  // namespace

TENON_CONFORMANCE_TEST("cost/open", "what opening costs", "[cost][level-5][backend][TN-BCK-8]") {
  kit.measure("load, open and close",
              least_microseconds(5, [&] { const OpenedBackend backend(kit); }), "us");
  OpenedBackend backend(kit);
  kit.measure("is_available",
              least_microseconds(5, [&] { static_cast<void>(backend.backend().is_available()); }),
              "us");
}

TENON_CONFORMANCE_TEST("cost/load-and-run", "what loading and running costs",
                       "[cost][level-5][case][TN-EXE-9]") {
  LiveCase live(kit);
  // The process is not compared around each call, which would be most of the measured time.
  live.boundary().watched().watch().watch_process(false);
  live.boundary().watched().watch().watch_streams(false);
  double in_init = 0;
  double in_execute = 0;
  live.boundary().on_init = [&](WatchedInit& call) {
    tenon_status status = TENON_STATUS_OK;
    in_init += microseconds_of([&] { status = call.forward(); });
    return status;
  };
  live.boundary().on_execute = [&](WatchedExecute& call) {
    tenon_status status = TENON_STATUS_OK;
    in_execute += microseconds_of([&] { status = call.forward(); });
    return status;
  };
  static_cast<void>(live.load());  // Excludes the work that is done once for all loads.
  in_init = 0;
  const std::int64_t before = heap_bytes();
  const std::int64_t threads = ResourceCounts::now().threads;
  const auto method = live.load();
  kit.measure("init", in_init, "us");
  const auto execute = [&] {
    in_execute = 0;
    kit.need(method->execute(method->runs().front()), "the case does not run");
    return in_execute;
  };
  kit.measure("first run", execute(), "us");
  double least = execute();
  for (int i = 0; i < 20; ++i) least = std::min(least, execute());
  kit.measure("run, least of 21", least, "us");
  kit.measure("memory of a loaded program, with the host's part",
              static_cast<double>(heap_bytes() - before), "bytes");
  kit.measure("threads started", static_cast<double>(ResourceCounts::now().threads - threads), "");
  if (!interposition.present) return;

  constexpr std::uint64_t runs = 10;
  const std::uint64_t taken = interposition.plugin_allocations;
  for (std::uint64_t i = 0; i < runs; ++i) static_cast<void>(execute());
  const std::uint64_t of_all = interposition.plugin_allocations - taken;
  kit.measure("allocations in a run", static_cast<double>(of_all) / static_cast<double>(runs), "");
  // A run that allocates more than declared is likely to hold more after many runs.
  const auto stated = kit.backend().steady_allocations;
  if (!stated) return;
  kit.expect("TN-EXE-9", of_all <= *stated * runs, runs, " runs take ", of_all,
             " blocks of memory; the author states ", *stated, " a run");
}

}}}  // namespace tenon::TENON_RELEASE::conformance
