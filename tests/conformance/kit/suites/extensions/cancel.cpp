// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/abi/extensions/cancel.h"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/host/layers/cancel/cancel.hpp"

/// Suite "cancel": runs that the application ends while they are going on
/// (abi/extensions/cancel.h).
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(cancel)

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

/// The case in a method whose runs can be cancelled. Ends the test as `not_applicable` for a
/// backend that neither looks at its flag nor has the extension.
class CancellableCase {
 public:
  explicit CancellableCase(Context& kit)
      : kit_(kit),
        live_(kit),
        limit_(kit.backend().cancel_ms),
        method_(live_.load({.layers = {host::Cancellation()}})) {
    const Clock::time_point start = Clock::now();
    before_ = outputs();
    duration_ = std::chrono::ceil<microseconds>(Clock::now() - start);
    const bool has_extension =
        live_.backend().backend().extension<tenon_cancel_v1>(TENON_EXTENSION_CANCEL).has_value();
    if (!has_extension && !live_.boundary().watched().asked_cancel_flag) {
      kit.not_applicable("the backend does not offer " TENON_EXTENSION_CANCEL
                         " and does not look at the flag of " TENON_EXTENSION_CANCEL_FLAG);
    }
    repeats_ = kit.backend().deterministic && outputs() == before_;
    fills_ = repeats_ && is_filled_alike();
  }

  [[nodiscard]] LiveCase& live() noexcept { return live_; }
  [[nodiscard]] host::Method& method() noexcept { return method_->method(); }
  /// Of one run, about.
  [[nodiscard]] microseconds duration() const noexcept { return duration_; }

  /// The outcome of one run of the case.
  [[nodiscard]] Status run() {
    if (fills_) method_->fill_outputs(fill);
    return method_->execute(method_->runs().front());
  }

  /// Judges the outcome of a run that `cancel` was called in, `waited` ago.
  void judge(const Status& outcome, Clock::duration waited) {
    kit_.expect("TN-CAN-1", outcome.ok() || outcome.error() == Error::Cancelled,
                "a run that was cancelled failed with ", describe(outcome),
                ", expected Cancelled or success");
    const auto took = std::chrono::ceil<milliseconds>(waited);
    kit_.expect("TN-CAN-1", took <= milliseconds(limit_), "a run ended ", took.count(),
                " ms after it was cancelled, expected at most ", limit_,
                " ms (cancel_ms in the subject file)");
    if (!outcome.ok() || !fills_) return;
    const auto written = kit_.need(method_->output_bytes(), "the outputs of the case");
    if (written == before_) return;
    // Other outputs from now on are another fault, which `judge_next` finds.
    const Status again = run();
    if (!again.ok()) return;
    const auto later = kit_.need(method_->output_bytes(), "the outputs of the case");
    kit_.expect("TN-CAN-1", later != before_,
                "a run that was cancelled succeeded, and its outputs are not complete");
  }

  /// Judges a run that was not cancelled, after a cancelled run or after calls of `cancel`.
  void judge_next() {
    const Status outcome = run();
    if (!outcome.ok()) {
      return kit_.violated(outcome.error() == Error::Cancelled ? "TN-CAN-2" : "TN-CAN-3",
                           "a run that was not cancelled failed with ", describe(outcome));
    }
    if (!repeats_) return;
    const auto after = kit_.need(method_->output_bytes(), "the outputs of the case");
    kit_.expect("TN-CAN-3", after == before_,
                "after a run that was cancelled, or a call of cancel, a run has other outputs");
  }

 private:
  static constexpr std::byte fill{0x55};

  /// Whether a run gives the same outputs when their memory had other bytes before it. Tried with
  /// another method, because it spoils a state that is in that memory.
  bool is_filled_alike() {
    const auto trial = live_.load();
    if (!trial->execute(trial->runs().front()).ok()) return false;
    trial->fill_outputs(fill);
    if (!trial->execute(trial->runs().front()).ok()) return false;
    const auto outputs = trial->output_bytes();
    return outputs.ok() && *outputs == before_;
  }

  std::vector<std::byte> outputs() {
    kit_.need(run(), "the case does not run");
    return kit_.need(method_->output_bytes(), "the outputs of the case");
  }

  Context& kit_;
  LiveCase live_;
  std::uint64_t limit_;
  std::unique_ptr<CaseMethod> method_;
  std::vector<std::byte> before_;
  microseconds duration_{};
  bool repeats_ = false;  ///< The same inputs give the same outputs, run after run,
  bool fills_ = false;    ///< also where the memory of the outputs had other bytes before.
};

}  // namespace

TENON_CONFORMANCE_TEST("cancel/before-execute", "a run is cancelled before the delegate begins",
                       "[cancel][level-5][case][TN-CAN-1][TN-CAN-2][TN-CAN-3]") {
  CancellableCase cancelled(kit);
  Boundary& boundary = cancelled.live().boundary();
  std::size_t num_calls = 0;
  boundary.on_execute = [&](WatchedExecute& call) {
    ++num_calls;
    return call.forward();
  };
  kit.need(cancelled.run(), "the case does not run");
  if (num_calls == 0) kit.not_applicable("the case calls kernels alone, no delegate");
  // After the last call the host begins nothing more: the run ends as that call does.
  for (const std::size_t target : {std::size_t{1}, num_calls, num_calls}) {
    Clock::time_point at{};
    std::size_t number = 0;
    boundary.on_execute = [&](WatchedExecute& call) {
      if (++number == target) {
        at = Clock::now();
        kit.need(cancelled.method().cancel(), "the host does not cancel");
      }
      return call.forward();
    };
    const Status outcome = cancelled.run();
    const auto waited = Clock::now() - at;
    boundary.on_execute = nullptr;
    // A state may decide how many calls a run has.
    if (number >= target) cancelled.judge(outcome, waited);
    cancelled.judge_next();
  }
}

TENON_CONFORMANCE_TEST("cancel/without-execute",
                       "a call of cancel outside of execute has no effect",
                       "[cancel][level-5][case][TN-CAN-2][TN-CAN-3]") {
  CancellableCase cancelled(kit);
  Boundary& boundary = cancelled.live().boundary();
  const auto table =
      cancelled.live().backend().backend().extension<tenon_cancel_v1>(TENON_EXTENSION_CANCEL);
  if (!table) kit.not_applicable("the backend does not offer " TENON_EXTENSION_CANCEL);
  // Not through the host, which would set the flag.
  const WatchedDelegate* last = nullptr;
  boundary.on_execute = [&](WatchedExecute& call) {
    last = &call.delegate;
    return call.forward();
  };
  cancelled.judge_next();
  for (int i = 0; i < 3 && last; ++i) {
    boundary.watched().watch().nothing_of("cancel", last->number, [&] {
      boundary.watched().extension<tenon_cancel_v1>().cancel(boundary.opened(), last->theirs);
    });
    cancelled.judge_next();
  }
}

TENON_CONFORMANCE_TEST("cancel/at-any-time", "runs are cancelled at random times",
                       "[cancel][level-5][case][TN-CAN-1][TN-CAN-2][TN-CAN-3]") {
  CancellableCase cancelled(kit);
  // Two threads are in the plugin: what one of them looks at, the other one may be reading.
  cancelled.live().boundary().watched().watch().watch_process(false);
  // Not more than a second of runs, and 1,000 of those that are short.
  const auto most = std::chrono::seconds(kit.options().level >= 9 ? 20 : 1) / cancelled.duration();
  const int rounds = static_cast<int>(std::clamp<long long>(most, 3, 1000));
  for (int i = 0; i < rounds; ++i) {
    const auto latest = static_cast<std::uint64_t>(cancelled.duration().count()) * 5 / 4 + 50;
    const microseconds delay(kit.random()() % latest);
    Status outcome;
    std::thread runner([&] { outcome = cancelled.run(); });
    std::this_thread::sleep_for(delay);
    const Clock::time_point at = Clock::now();
    const Status asked = cancelled.method().cancel();
    runner.join();
    const auto waited = Clock::now() - at;
    kit.need(asked, "the host does not cancel");
    cancelled.judge(outcome, waited);
  }
  cancelled.judge_next();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
