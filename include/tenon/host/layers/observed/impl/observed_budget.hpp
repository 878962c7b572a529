// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/observed/impl/run_observer.hpp"
#include "tenon/host/layers/observed/impl/run_observers.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/impl/method/run_budget.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The budget of a run whose observers may refuse an instruction: they are asked before each.
class ObservedBudget : public RunBudget {
 public:
  /// Null: no observer. Both must outlive this object.
  ObservedBudget(MethodState& method, const RunObservers* observers) noexcept
      : RunBudget(method.options.limits), method_(method) {
    if (observers) gates_ = observers->gates();
  }

  [[nodiscard]] std::uint64_t next_slice() noexcept {
    if (gates_.empty()) return RunBudget::next_slice();
    if (!take_one()) return 0;
    for (RunObserver* const gate : gates_) {
      if (gate->may_begin(method_)) continue;
      refused_by_ = gate;
      return 0;
    }
    return 1;
  }

  /// Why there was no further slice before the instruction with this place.
  [[nodiscard]] Status refusal(std::size_t chain, std::size_t index) const {
    if (refused_by_) return refused_by_->refusal(method_, chain, index);
    return errors_of(method_).too_many_instructions(chain, index, method_.options.limits);
  }

 private:
  MethodState& method_;
  std::span<RunObserver* const> gates_;
  RunObserver* refused_by_ = nullptr;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
