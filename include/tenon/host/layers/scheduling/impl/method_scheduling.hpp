// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "tenon/abi/extensions/scheduling.h"
#include "tenon/core/application/scheduling.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The active delegate has `scheduling` from now on (extension "tenon.scheduling/1"). A delegate of
/// a backend without the extension stays as it is: it follows no hint.
[[nodiscard]] inline Status set_scheduling(const Delegate& delegate,
                                           const tenon_scheduling& scheduling) {
  const LoadedBackend& backend = *delegate.use->backend;
  const auto table = backend.extension<tenon_scheduling_v1>(TENON_EXTENSION_SCHEDULING);
  if (!table) return ok();
  if (!table->set_scheduling) {
    return error(Error::NotSupported, "backend ", delegate.use->id,
                 " fixes the scheduling of a delegate when it is loaded");
  }
  const tenon_status status = table->set_scheduling(backend.raw(), delegate.handle, &scheduling);
  if (status == TENON_STATUS_OK) return ok();
  return take_last_error(backend.host(), status).with_context("set_scheduling");
}

}  // namespace detail

Status Method::set_scheduling(const Scheduling& scheduling) {
  detail::MethodState& method = detail::state_of(*this);
  TENON_RETURN_IF_ERROR(detail::check_idle(method));
  const tenon_scheduling hints = tenon::detail::to_abi(scheduling);
  for (std::size_t i = 0; i < method.delegates.size(); ++i) {
    if (Status set = detail::set_scheduling(method.delegates[i], hints); !set.ok()) {
      return std::move(set).with_context(concat("delegate ", i));
    }
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host
