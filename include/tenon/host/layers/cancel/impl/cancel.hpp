// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/core/result.hpp"
#include "tenon/host/layers/cancel/impl/run_control.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Status Method::cancel() {
  detail::MethodState& method = detail::state_of(*this);
  if (!method.control) {
    return error(Error::InvalidState, "method ", method.name,
                 ": it was loaded without MethodOptions::cancellable, so no run of it can be "
                 "cancelled");
  }
  method.control->cancel();
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host
