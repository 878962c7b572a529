// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/sessions/session.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "tenon/abi/extensions/sessions.h"
#include "tenon/core/application/scheduling.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/budget/impl/method_budget.hpp"
#include "tenon/host/layers/sessions/impl/method_states.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Another delegate of the blob of `delegate`, for which `init` made `own` (extension
/// "tenon.sessions/1").
[[nodiscard]] inline Result<tenon_delegate*> create_session(const Delegate& delegate,
                                                            tenon_delegate* own,
                                                            const tenon_session_context& context) {
  const LoadedBackend& backend = *delegate.use->backend;
  const auto table = backend.extension<tenon_sessions_v1>(TENON_EXTENSION_SESSIONS);
  if (!table || !table->create_session) {
    return error(Error::NotSupported, "backend ", delegate.use->id,
                 " has no sessions (extension " TENON_EXTENSION_SESSIONS ")");
  }
  tenon_delegate* out = nullptr;
  const tenon_status status = table->create_session(backend.raw(), own, &context, &out);
  if (status == TENON_STATUS_OK) return out;
  return take_last_error(backend.host(), status).with_context("create_session");
}

/// The states of a session. `Session` shows it to applications without its types.
class LoadedSession final : public Session {
 public:
  /// One state for each delegate, or the first failure.
  /// OutOfResources when `budget`, which may be null and is borrowed, does not suffice.
  [[nodiscard]] static Result<std::unique_ptr<Session>> create(MethodStates& all,
                                                               const SessionOptions& options,
                                                               MethodBudget* budget) {
    const auto* const from = static_cast<const LoadedSession*>(options.state);
    if (from && options.copies_own_state) {
      return error(
          Error::InvalidArgument,
          "create_session: expected one state to copy, found a session and the method's own");
    }
    if (from && &from->all_ != &all) {
      return error(
          Error::InvalidArgument,
          "create_session: expected a state that the method created, found one of another");
    }
    std::unique_ptr<LoadedSession> out(new LoadedSession(all));
    if (budget) {
      TENON_RETURN_IF_ERROR(budget->begin_session(out->lent_));
      out->budget_ = budget;
    }
    Status created = out->create_states(options, from);
    if (budget) {
      out->beyond_statement_ = budget->end_session();
      created = budget->explain(std::move(created));
    }
    if (!created.ok()) return created;
    return std::unique_ptr<Session>(std::move(out));
  }

  /// Destroys the states as the method destroys its own: in the order of the delegates.
  ~LoadedSession() override {
    if (&all_.in_use() == states_.get()) all_.use(all_.own());
    for (std::size_t i = 0; i < states_->handles.size(); ++i) {
      const Delegate& delegate = all_.delegates()[i];
      delegate.use->backend->api().destroy(delegate.backend, states_->handles[i]);
    }
    if (budget_) budget_->give_session(beyond_statement_);
  }

  /// The method runs with them from now on.
  void use() const noexcept { all_.use(*states_); }

 private:
  explicit LoadedSession(MethodStates& all) : all_(all) {
    states_->handles.reserve(all.delegates().size());
  }

  /// `from` has the states to copy, unless it is null.
  Status create_states(const SessionOptions& options, const LoadedSession* from) {
    std::optional<tenon_scheduling> hints;
    if (options.scheduling) hints = tenon::detail::to_abi(*options.scheduling);
    for (std::size_t i = 0; i < all_.delegates().size(); ++i) {
      const Delegate& delegate = all_.delegates()[i];
      const auto specs = runtime_specs_of(options.backend_options, delegate.use->id);
      tenon_delegate* const own = all_.own().handles[i];
      tenon_delegate* const copied = options.copies_own_state ? own : nullptr;
      const tenon_session_context context = {sizeof context,
                                             static_cast<std::uint32_t>(specs.size()),
                                             specs.empty() ? nullptr : specs.data(),
                                             hints ? &*hints : nullptr,
                                             lent_.table(),
                                             from ? from->states_->handles[i] : copied};
      auto handle = detail::create_session(delegate, own, context);
      if (!handle.ok()) return std::move(handle).status().with_context(concat("delegate ", i));
      states_->handles.push_back(*handle);
    }
    return ok();
  }

  MethodStates& all_;
  const std::unique_ptr<DelegateStates> states_ = std::make_unique<DelegateStates>();
  Arena lent_;  // What the states got from the runtime allocator.
  MethodBudget* budget_ = nullptr;
  std::uint64_t beyond_statement_ = 0;  // Of `lent_`, in the budget.
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
