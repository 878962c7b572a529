// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "tenon/abi/draft/external_memory.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/external_memory/external_memory.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Runs of the active delegate begin after `fence`, or `fence` is signalled after those so far
/// (extension "tenon.external_memory/1").
[[nodiscard]] inline Status use_fence(const Delegate& delegate, const tenon_external_fence& fence,
                                      bool waits) {
  const LoadedBackend& backend = *delegate.use->backend;
  const auto table = backend.extension<tenon_external_memory_v1>(TENON_EXTENSION_EXTERNAL_MEMORY);
  const auto call = !table ? nullptr : waits ? table->wait_fence : table->signal_fence;
  if (!call) {
    return error(Error::NotSupported, "backend ", delegate.use->id,
                 " knows no external fences (extension " TENON_EXTENSION_EXTERNAL_MEMORY ")");
  }
  const tenon_status status = call(backend.raw(), delegate.handle, &fence);
  if (status == TENON_STATUS_OK) return ok();
  return take_last_error(backend.host(), status)
      .with_context(waits ? "wait_fence" : "signal_fence");
}
/// Has each delegate of `backend_id` wait for a fence, or the last of them signal it.
[[nodiscard]] inline Status use_fence(std::span<const Delegate> delegates,
                                      std::string_view backend_id, const ExternalFence& fence,
                                      bool waits) {
  const tenon_external_fence raw = tenon::detail::to_abi(fence);
  const Delegate* last = nullptr;
  for (const Delegate& delegate : delegates) {
    if (delegate.use->id != backend_id) continue;
    last = &delegate;
    if (!waits) continue;
    if (Status used = use_fence(delegate, raw, waits); !used.ok()) {
      return std::move(used).with_context(concat("delegate ", &delegate - delegates.data()));
    }
  }
  if (!last) {
    return error(Error::InvalidArgument, "no delegate of the method uses backend ", backend_id);
  }
  if (waits) return ok();
  return use_fence(*last, raw, waits).with_context(concat("delegate ", last - delegates.data()));
}

}  // namespace detail

Status Method::wait_fence(std::string_view backend_id, const ExternalFence& fence) {
  const detail::MethodState& method = detail::state_of(*this);
  TENON_RETURN_IF_ERROR(detail::check_idle(method));
  return detail::use_fence(method.delegates, backend_id, fence, true);
}

Status Method::signal_fence(std::string_view backend_id, const ExternalFence& fence) {
  const detail::MethodState& method = detail::state_of(*this);
  TENON_RETURN_IF_ERROR(detail::check_idle(method));
  return detail::use_fence(method.delegates, backend_id, fence, false);
}

}}}  // namespace tenon::TENON_RELEASE::host
