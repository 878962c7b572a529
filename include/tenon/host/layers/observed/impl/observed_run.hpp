// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/observed/impl/observed_budget.hpp"
#include "tenon/host/layers/observed/impl/run_observer.hpp"
#include "tenon/host/layers/observed/impl/run_observers.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/interpret.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The calls of a run whose instructions no observer sees.
struct ObservedCalls : CompleteCalls {
  [[nodiscard]] static ObservedBudget budget(MethodState& of) noexcept {
    return {of, observers_of(of)};
  }
  [[nodiscard]] static Status refuse(const ObservedBudget& budget, std::size_t chain,
                                     std::size_t index) {
    return budget.refusal(chain, index);
  }
};

/// The calls of a run whose instructions observers see.
struct WatchedCalls : ObservedCalls {
  explicit WatchedCalls(MethodState& of)
      : ObservedCalls{{of}}, watchers_(observers_of(of)->watchers()) {}

  void begin_instruction(const Instruction& at) const {
    for (RunObserver* const watcher : watchers_) watcher->begin(method, at);
  }
  tenon_status delegate(const Instruction& at, std::size_t chain, std::size_t index) {
    return result(at, CompleteCalls::delegate(at, chain, index));
  }
  tenon_status kernel(const Instruction& at, std::size_t chain, std::size_t index) {
    return result(at, CompleteCalls::kernel(at, chain, index));
  }
  void end_instruction(const Instruction& at, std::size_t chain, std::size_t index) const {
    for (RunObserver* const watcher : watchers_) watcher->end(method, at, chain, index);
  }

 private:
  [[nodiscard]] tenon_status result(const Instruction& at, tenon_status status) const noexcept {
    for (RunObserver* const watcher : watchers_) status = watcher->result(method, at, status);
    return status;
  }

  const std::span<RunObserver* const> watchers_;
};

Status RunObservers::run_instructions(MethodState& method) {
  begin_instructions(method);
  return end_instructions(
      method, watchers_.empty() ? run_all<ObservedCalls>(method) : run_all<WatchedCalls>(method));
}

/// In place of the plain run.
[[gnu::cold]] inline Status run_observed(MethodState& method) {
  RunObservers& observers = *observers_of(method);
  if (!observers.begin_run(method)) return run_is_pending(method);
  return observers.end_run(method, observers.run_instructions(method));
}

void observe(MethodState& method, RunObserver& observer, Observation what) {
  late_part<RunObservers>(method).add(observer, what);
  method.run = &run_observed;
}

void unobserve(MethodState& method, const RunObserver& observer) noexcept {
  RunObservers* const observers = observers_of(method);
  if (!observers) return;
  observers->remove(observer);
  if (observers->empty()) method.run = nullptr;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
