// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/cancel/cancel.hpp"

#include <memory>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/cancel/impl/cancel_part.hpp"
#include "tenon/host/layers/cancel/impl/time_limit_part.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<std::unique_ptr<detail::MethodPart>> Cancellation::attach(detail::LoadRequest&) const {
  return std::make_unique<detail::CancelPart>();
}

Result<std::unique_ptr<detail::MethodPart>> TimeLimit::attach(detail::LoadRequest& request) const {
  if (request.options.limits.run_milliseconds == HostLimits::none) return nullptr;
  return std::make_unique<detail::TimeLimitPart>();
}

Status Method::cancel() {
  detail::MethodState& method = detail::state_of(*this);
  auto* const part = detail::find_part<detail::CancelPart>(method);
  if (!part) return detail::missing_layer(Error::InvalidState, method, "Cancellation");
  part->cancel();
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host
