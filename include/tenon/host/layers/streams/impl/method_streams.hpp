// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/streams.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/layers/sessions/impl/method_states.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Runs of `delegate`, in the state that is in use, are on `stream` from now on (extension
/// "tenon.streams/1"). A stream of another kind than the backend's does not reach it (TN-STR-7).
/// `given` remembers it.
[[nodiscard]] inline Status set_stream(const Delegate& delegate, NativeStream stream,
                                       NativeStream& given) {
  const LoadedBackend& backend = *delegate.use->backend;
  const auto table = backend.extension<tenon_streams_v1>(TENON_EXTENSION_STREAMS);
  if (!table || !table->set_stream) {
    return error(Error::NotSupported, "backend ", delegate.use->id,
                 " runs on no external streams (extension " TENON_EXTENSION_STREAMS ")");
  }
  TENON_RETURN_IF_ERROR(check_stream(backend.id(), table->kind, stream));
  const tenon_status status = table->set_stream(backend.raw(), delegate.handle, stream.handle);
  if (status != TENON_STATUS_OK) {
    return take_last_error(backend.host(), status).with_context("set_stream");
  }
  given = {table->kind, stream.handle};
  return ok();
}

/// Gives the delegates of `backend_id` that are executed a stream: all of them, or none.
[[nodiscard]] inline Status set_stream(MethodState& method, std::string_view backend_id,
                                       NativeStream stream) {
  const std::span<const Delegate> delegates = method.delegates;
  std::vector<NativeStream>& given = late_part<MethodStates>(method).in_use().streams;
  given.resize(delegates.size(), nullptr);
  std::vector<std::pair<std::size_t, NativeStream>> before;
  for (std::size_t i = 0; i < delegates.size(); ++i) {
    if (delegates[i].use->id != backend_id) continue;
    before.emplace_back(i, given[i]);
    Status set = set_stream(delegates[i], stream, given[i]);
    if (set.ok()) continue;
    before.pop_back();
    for (const auto& [changed, old] : before) {
      if (Status restored = set_stream(delegates[changed], old, given[changed]); !restored.ok()) {
        set = std::move(set).with_context(concat("delegate ", changed,
                                                 " could not go back to its former stream (",
                                                 restored.text(), ")"));
      }
    }
    return std::move(set).with_context(concat("delegate ", i));
  }
  if (!before.empty()) return ok();
  return error(Error::InvalidArgument, "no delegate of the method uses backend ", backend_id);
}

}  // namespace detail

Status Method::set_stream(std::string_view backend_id, NativeStream stream) {
  detail::MethodState& method = detail::state_of(*this);
  TENON_RETURN_IF_ERROR(detail::check_idle(method));
  return detail::set_stream(method, backend_id, stream);
}

}}}  // namespace tenon::TENON_RELEASE::host
