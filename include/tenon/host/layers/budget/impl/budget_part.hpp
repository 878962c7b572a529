// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/budget/impl/method_budget.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/layers/observed/impl/run_observer.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The layer budget's share of a method. The method's arenas count in it.
class BudgetPart final : public PartOf<BudgetPart>, public RunObserver {
 public:
  /// `limits` is borrowed.
  explicit BudgetPart(std::span<const DeviceBytes> limits) noexcept : limits_(limits) {}

  [[nodiscard]] Status before_load(Loading& loading) override;
  /// Takes what the method will need from its budget, or refuses it.
  [[nodiscard]] Status limit_memory(Loading& loading) override;
  [[nodiscard]] Status init_context(Loading& loading, DelegateLoad& delegate) override;
  [[nodiscard]] Status after_init(Loading& loading, DelegateLoad& delegate,
                                  Status outcome) override;
  [[nodiscard]] Status after_load(Loading& loading, Status outcome) override;
  [[nodiscard]] Status end_run(MethodState& method, Status outcome) override;

  MethodBudget budget;

 private:
  std::span<const DeviceBytes> limits_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
