// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/sessions/impl/loaded_session.hpp"
#include "tenon/host/layers/sessions/session.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<std::unique_ptr<Session>> Method::create_session(const SessionOptions& options) {
  detail::MethodState& method = detail::state_of(*this);
  TENON_RETURN_IF_ERROR(detail::check_idle(method));
  TENON_RETURN_IF_ERROR(detail::check_used(method, options.backend_options));
  return detail::LoadedSession::create(method.delegates, options, method.budget.get());
}

void Method::use_session(const Session* session) noexcept {
  if (session) return detail::loaded(*session).use();
  for (detail::Delegate& delegate : detail::state_of(*this).delegates) {
    delegate.activate(delegate.own);
  }
}

}}}  // namespace tenon::TENON_RELEASE::host
