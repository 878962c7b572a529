// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/method/session.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/impl/method/loaded_delegate.hpp"
#include "tenon/host/impl/method/memory/method_budget.hpp"

namespace tenon::inline TENON_RELEASE::host::detail {

/// The states of a session. `Session` shows it to applications without its types.
class LoadedSession final : public Session {
 public:
  /// One state for each delegate, or the first failure.
  /// OutOfResources when `budget`, which may be null and is borrowed, does not suffice.
  [[nodiscard]] static Result<std::unique_ptr<Session>> create(std::span<LoadedDelegate> delegates,
                                                               MethodBudget* budget) {
    if (budget) TENON_RETURN_IF_ERROR(budget->take_session());
    std::unique_ptr<LoadedSession> out(new LoadedSession(delegates, budget));
    for (std::size_t i = 0; i < delegates.size(); ++i) {
      auto handle = delegates[i].create_session();
      if (!handle.ok()) return std::move(handle).status().with_context(concat("delegate ", i));
      out->states_[out->num_states_++].handle = *handle;
    }
    return std::unique_ptr<Session>(std::move(out));
  }

  ~LoadedSession() override {
    for (std::size_t i = num_states_; i-- > 0;) {
      if (delegates_[i].active == &states_[i]) delegates_[i].active = &delegates_[i].own;
      delegates_[i].destroy(states_[i].handle);
    }
    if (budget_) budget_->give_session();
  }

  void use() const noexcept {
    for (std::size_t i = 0; i < num_states_; ++i) delegates_[i].active = &states_[i];
  }

 private:
  LoadedSession(std::span<LoadedDelegate> delegates, MethodBudget* budget)
      : delegates_(delegates), states_(new DelegateState[delegates.size()]), budget_(budget) {}

  const std::span<LoadedDelegate> delegates_;
  const std::unique_ptr<DelegateState[]> states_;  // Delegates point to them.
  std::size_t num_states_ = 0;
  MethodBudget* const budget_;
};

[[nodiscard]] inline const LoadedSession& loaded(const Session& session) noexcept {
  return static_cast<const LoadedSession&>(session);
}

}  // namespace tenon::inline TENON_RELEASE::host::detail
