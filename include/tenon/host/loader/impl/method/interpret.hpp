// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/impl/method/bind_inputs.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/impl/method/run_budget.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

[[gnu::always_inline]] inline tenon_status run_kernel(MethodState& method, const Instruction& at) {
  return method.changes.track([&] {
    return at.kernel->run(at.kernel->self, &method.kernel_context, at.args, at.num_args);
  });
}

/// The calls of `execute`: complete when they return. Inlined at once: otherwise gcc 12 spends
/// two moves more on each call of a delegate.
struct CompleteCalls {
  MethodState& method;

  [[nodiscard]] static RunBudget budget(const MethodState& of) noexcept {
    return RunBudget(of.options.limits);
  }
  [[nodiscard, gnu::cold]] Status refuse(const RunBudget&, std::size_t chain,
                                         std::size_t index) const {
    return errors_of(method).too_many_instructions(chain, index, method.options.limits);
  }
  static void begin_instruction(const Instruction&) noexcept {}
  [[nodiscard]] static bool has_stopped() noexcept { return false; }
  [[gnu::always_inline]] tenon_status delegate(const Instruction& at, std::size_t, std::size_t) {
    const auto run = [&] { return at.delegate->execute(at.args, at.num_args); };
    return at.may_change ? method.changes.track(run) : run();
  }
  [[gnu::always_inline]] tenon_status kernel(const Instruction& at, std::size_t, std::size_t) {
    return run_kernel(method, at);
  }
  static void condition(const tenon_value&) noexcept {}
  static void end_instruction(const Instruction&, std::size_t, std::size_t) noexcept {}
};

/// Runs instructions from `position` on: to the end, to a failure, or to an instruction that
/// `calls` stops before, as it has to wait; `position` is then there.
///
/// `calls` is how a run waits. Its `delegate` and `kernel` make a call and return its status, and
/// `condition` waits for a value that is read; after each of them `has_stopped` says whether it
/// stops. `begin_instruction` and `end_instruction` are around each instruction. `refuse` says why
/// `budget` has no further slice.
template <class Calls, class Budget>
[[gnu::always_inline]] inline Status interpret(MethodState& method, Budget& budget,
                                               RunPosition& position, Calls& calls) {
  std::uint64_t left = position.left;
  std::size_t i = position.index;
  for (std::size_t c = position.chain; c < method.chains.size(); ++c, i = 0) {
    const Chain chain = method.chains[c];
    const auto stop = [&] {
      position = {c, i, left + 1};
      return ok();
    };
    while (i < chain.size()) {
      if (left-- == 0) [[unlikely]] {
        left = budget.next_slice();
        if (left-- == 0) return calls.refuse(budget, c, i);
      }
      const Instruction& at = chain[i];
      std::size_t next = i + 1;
      tenon_status status = TENON_STATUS_OK;
      calls.begin_instruction(at);
      switch (at.kind) {
        case schema::InstructionArguments::DelegateCall:
          status = calls.delegate(at, c, i);
          if (calls.has_stopped()) return stop();
          break;
        case schema::InstructionArguments::KernelCall:
          status = calls.kernel(at, c, i);
          if (calls.has_stopped()) return stop();
          break;
        case schema::InstructionArguments::MoveCall:
          method.changes.move(*at.from, *at.to);
          break;
        case schema::InstructionArguments::JumpFalseCall: {
          calls.condition(*at.condition);
          if (calls.has_stopped()) return stop();
          const std::uint64_t before = budget.condition_bytes;
          const Condition condition = read_condition(*at.condition, budget.condition_bytes);
          if (condition == Condition::is_false) {
            next = at.destination;
          } else if (condition == Condition::wrong_kind) {
            return errors_of(method).condition(c, i, *at.condition);
          } else if (condition == Condition::too_long) {
            return errors_of(method).conditions(c, i, *at.condition, before, method.options.limits);
          }
          break;
        }
        default:
          if (at.to->kind != TENON_VALUE_TENSOR) [[unlikely]]
            return errors_of(method).free(c, i, *at.to);
          method.changes.free(*at.to->as.tensor);
          break;
      }
      calls.end_instruction(at, c, i);
      method.temp_arena.reset();
      if (status != TENON_STATUS_OK) [[unlikely]]
        return errors_of(method).call(c, i, at, status, method.delegates,
                                      method.kernel_context.host);
      i = next;
    }
  }
  position = {method.chains.size(), 0, left};
  return ok();
}

/// Once for each way to call, so that each is in one place: a compiler then has no call for it.
template <class Calls>
Status run_all(MethodState& method) {
  auto budget = Calls::budget(method);
  RunPosition position{0, 0, budget.next_slice()};
  Calls calls{method};
  return interpret(method, budget, position, calls);
}

/// The failure of a run while `blocked` is not 0.
[[nodiscard, gnu::cold]] inline Status refuse_run(const MethodState& method) {
  TENON_RETURN_IF_ERROR(check_idle(method));
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    if (method.inputs[i].is_set) continue;
    return error(Error::InvalidArgument, "method ", method.name, ": input ", i, " was not set");
  }
  return run_is_pending(method);  // It ended since.
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
