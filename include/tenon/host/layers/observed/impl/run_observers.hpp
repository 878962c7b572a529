// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/observed/impl/run_observer.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The observers of a method's runs. `observe` adds it.
class RunObservers final : public PartOf<RunObservers> {
 public:
  explicit RunObservers(const MethodState&) noexcept {}

  /// Has no effect for an observer that is there.
  void add(RunObserver& observer, Observation what) {
    if (std::find(all_.begin(), all_.end(), &observer) != all_.end()) return;
    all_.push_back(&observer);
    if (what.may_refuse) gates_.push_back(&observer);
    if (what.sees_instructions) watchers_.push_back(&observer);
  }
  void remove(const RunObserver& observer) noexcept {
    for (auto* const list : {&all_, &gates_, &watchers_}) std::erase(*list, &observer);
  }

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  /// Observers whose `may_begin` is called.
  [[nodiscard]] std::span<RunObserver* const> gates() const noexcept { return gates_; }
  /// Observers whose `begin`, `result` and `end` are called.
  [[nodiscard]] std::span<RunObserver* const> watchers() const noexcept { return watchers_; }

  /// False: an observer refuses the run, because another run is going on.
  [[nodiscard]] bool begin_run(MethodState& method) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i]->begin_run(method)) continue;
      // They have nothing to say about a run that does not take place.
      static_cast<void>(end_run_of(std::span(all_).first(i), method, ok()));
      return false;
    }
    return true;
  }
  [[nodiscard]] Status end_run(MethodState& method, Status outcome) {
    return end_run_of(all_, method, std::move(outcome));
  }

  void begin_instructions(MethodState& method) noexcept {
    for (RunObserver* const observer : all_) observer->begin_instructions(method);
  }
  [[nodiscard]] Status end_instructions(MethodState& method, Status outcome) {
    for (RunObserver* const observer : all_) {
      outcome = observer->end_instructions(method, std::move(outcome));
    }
    return outcome;
  }

  /// All instructions of a run that has begun, on this thread.
  [[nodiscard]] Status run_instructions(MethodState& method);

 private:
  static Status end_run_of(std::span<RunObserver* const> observers, MethodState& method,
                           Status outcome) {
    for (RunObserver* const observer : observers) {
      outcome = observer->end_run(method, std::move(outcome));
    }
    for (RunObserver* const observer : observers) observer->run_over(method);
    return outcome;
  }

  std::vector<RunObserver*> all_;
  std::vector<RunObserver*> gates_;
  std::vector<RunObserver*> watchers_;
};

/// The observers of `method`; null without one.
[[nodiscard]] inline RunObservers* observers_of(const MethodState& method) noexcept {
  return method.run ? find_late_part<RunObservers>(method) : nullptr;
}

/// `observer` sees the runs of `method` from now on. In a load, or between runs.
void observe(MethodState& method, RunObserver& observer, Observation what);

/// `observer` sees no run of `method` any more. Between runs.
void unobserve(MethodState& method, const RunObserver& observer) noexcept;

}}}  // namespace tenon::TENON_RELEASE::host::detail
