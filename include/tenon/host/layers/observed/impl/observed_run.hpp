// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/budget/impl/budget_part.hpp"
#include "tenon/host/layers/cancel/impl/run_control.hpp"
#include "tenon/host/layers/trace/impl/method_recorder.hpp"
#include "tenon/host/layers/trace/impl/trace_instruction.hpp"
#include "tenon/host/layers/trace/trace.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/interpret.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/impl/method/run_budget.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

[[nodiscard]] inline bool is_recording(const MethodState& method) noexcept {
  return method.recorder && method.recorder->is_recording();
}

/// The same in runs that have a limit in time or can be cancelled.
struct ObservedCalls : CompleteCalls {
  [[nodiscard]] static RunBudget budget(const MethodState& of) noexcept {
    return RunBudget(of.options.limits, of.control.get());
  }
};

/// The same with events, and results of kernels, that are recorded.
struct TracedCalls : ObservedCalls {
  [[nodiscard]] std::uint64_t begin_instruction() const {
    return method.options.trace ? method.options.trace->now_ns() : 0;
  }
  tenon_status kernel(const Instruction& at, std::size_t, std::size_t) {
    const tenon_status status = run_kernel(method, at);
    if (status != TENON_STATUS_OK || !is_recording(method)) return status;
    return method.recorder->take_kernel(at);
  }
  void end_instruction(const Instruction& at, std::size_t chain, std::size_t index,
                       std::uint64_t start) {
    if (!method.options.trace) return;
    trace_instruction(*method.options.trace, errors_of(method), at, chain, index, start);
  }
};

/// Around each run that can be cancelled or has a budget, also an asynchronous one. False: the
/// method can be cancelled, and another run of it is going on.
[[nodiscard]] inline bool begin_run(MethodState& method) {
  return !method.control || method.control->begin();
}

[[nodiscard]] inline Status end_run(MethodState& method, Status outcome) {
  if (auto* const part = find_part<BudgetPart>(method)) {
    outcome = part->budget.explain(std::move(outcome));
  }
  if (!method.control) return outcome;
  const bool is_late = method.control->end();
  if (outcome.error() != Error::Cancelled || !is_late) return outcome;
  return errors_of(method).late(outcome, method.options.limits);
}

[[gnu::cold]] inline Status run_traced(MethodState& method) {
  const std::uint64_t start = method.options.trace->now_ns();
  Status outcome = run_all<TracedCalls>(method);
  const std::uint64_t end = method.options.trace->now_ns();
  method.options.trace->add("execute", "method", start, end, {{"method", method.name}});
  return outcome;
}

[[gnu::cold]] inline Status run_recorded(MethodState& method) {
  method.recorder->begin_run();
  return method.recorder->end_run(method.options.trace ? run_traced(method)
                                                       : run_all<TracedCalls>(method));
}

/// All instructions of a run that has begun.
[[gnu::cold]] inline Status run_begun(MethodState& method) {
  if (is_recording(method)) return run_recorded(method);
  return method.options.trace ? run_traced(method) : run_all<ObservedCalls>(method);
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
