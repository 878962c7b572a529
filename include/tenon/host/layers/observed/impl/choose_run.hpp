// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/core/result.hpp"
#include "tenon/host/layers/observed/impl/observed_run.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A run that is traced or recorded, has a limit in time or a budget, or can be cancelled.
[[gnu::cold]] inline Status run_observed(MethodState& method) {
  if (!begin_run(method)) return run_is_pending(method);
  return end_run(method, run_begun(method));
}

void choose_run(MethodState& method) noexcept {
  const bool is_plain = !method.options.trace && !method.control && !is_recording(method) &&
                        !find_part<BudgetPart>(method) &&
                        method.options.limits.run_milliseconds == HostLimits::none;
  method.run = is_plain ? nullptr : &run_observed;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
