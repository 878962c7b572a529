// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/budget/impl/budget_part.hpp"
#include "tenon/host/layers/sessions/impl/loaded_session.hpp"
#include "tenon/host/layers/sessions/impl/method_states.hpp"
#include "tenon/host/layers/sessions/session.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<std::unique_ptr<Session>> Method::create_session() {
  return create_session(SessionOptions());
}

Result<std::unique_ptr<Session>> Method::create_session(const SessionOptions& options) {
  detail::MethodState& method = detail::state_of(*this);
  TENON_RETURN_IF_ERROR(detail::check_idle(method));
  TENON_RETURN_IF_ERROR(detail::check_used(method, options.backend_options));
  auto* const part = detail::find_part<detail::BudgetPart>(method);
  return detail::LoadedSession::create(detail::late_part<detail::MethodStates>(method), options,
                                       part ? &part->budget : nullptr);
}

void Method::use_session(const Session* session) noexcept {
  if (session) return static_cast<const detail::LoadedSession&>(*session).use();
  auto* const states = detail::find_late_part<detail::MethodStates>(detail::state_of(*this));
  if (states) states->use(states->own());
}

}}}  // namespace tenon::TENON_RELEASE::host
