// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "tenon/abi/extensions/memory_info.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/impl/method/loaded_delegate.hpp"
#include "tenon/host/method/memory.hpp"
#include "tenon/host/plugin/last_error.hpp"

namespace tenon::inline TENON_RELEASE::host::detail {

/// The memory of a delegate that is loaded: what the host lent it, and what its backend reports
/// (extension "tenon.memory_info/1"). errors: the backend's own.
[[nodiscard]] inline Result<DelegateMemory> memory_of(const LoadedDelegate& delegate) {
  DelegateMemory out;
  out.backend_id = delegate.use->id;
  out.lent = delegate.lent;
  const LoadedBackend& backend = *delegate.use->backend;
  const auto table = backend.extension<tenon_memory_info_v1>(TENON_EXTENSION_MEMORY_INFO);
  if (!table || !table->memory_info) return out;
  tenon_memory_info info{};
  info.struct_size = sizeof info;
  const tenon_status status = table->memory_info(backend.raw(), delegate.active->handle, &info);
  if (status != TENON_STATUS_OK) {
    return take_last_error(backend.host(), status)
        .with_context(concat("backend ", backend.id(), ": memory_info"));
  }
  out.is_reported = true;
  out.host_weights = info.host_weights;
  out.host_scratch = info.host_scratch;
  out.device_weights = info.device_weights;
  out.device_scratch = info.device_scratch;
  return out;
}

}  // namespace tenon::inline TENON_RELEASE::host::detail
