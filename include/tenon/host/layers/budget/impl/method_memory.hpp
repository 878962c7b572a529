// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/memory_info.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/budget/impl/memory_sink.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The memory that a backend reports for `delegate`, or for null (extension
/// "tenon.memory_info/1"); nothing without the extension. errors: the backend's own.
[[nodiscard]] inline Result<std::optional<std::vector<DelegateBytes>>> reported_memory(
    const LoadedBackend& backend, tenon_delegate* delegate) {
  using Reported = std::optional<std::vector<DelegateBytes>>;
  const auto table = backend.extension<tenon_memory_info_v1>(TENON_EXTENSION_MEMORY_INFO);
  if (!table || !table->memory_info) return Reported();
  MemorySink sink;
  const tenon_status status = table->memory_info(backend.raw(), delegate, &MemorySink::take, &sink);
  if (status != TENON_STATUS_OK) {
    return take_last_error(backend.host(), status)
        .with_context(concat("backend ", backend.id(), ": memory_info"));
  }
  if (sink.out_of_memory) {
    return error(Error::MemoryAllocationFailed, "backend ", backend.id(), ": its memory_info");
  }
  return Reported(std::move(sink.devices));
}

/// The memory of a delegate that is loaded: what the host lent it, and what its backend reports.
/// errors: the backend's own.
[[nodiscard]] inline Result<DelegateMemory> memory_of(const Delegate& delegate) {
  DelegateMemory out;
  out.backend_id = delegate.use->id;
  out.lent = delegate.lent;
  // NULL would ask for the backend; such a delegate holds nothing.
  if (!delegate.handle) return out;
  TENON_TRY(auto reported, reported_memory(*delegate.use->backend, delegate.handle));
  out.is_reported = reported.has_value();
  if (reported) out.held = *std::move(reported);
  return out;
}

/// Adds the memory that a backend reports for null, unless it was added before. errors: the
/// backend's own.
[[nodiscard]] inline Status add_backend_memory(const BackendUse& use,
                                               std::vector<BackendMemory>& to) {
  const bool is_known =
      std::ranges::any_of(to, [&](const BackendMemory& each) { return each.backend_id == use.id; });
  if (is_known) return ok();
  TENON_TRY(auto held, reported_memory(*use.backend, nullptr));
  if (held) to.push_back({std::string(use.id), *std::move(held)});
  return ok();
}

/// Adds the memory of the delegates of a method, and of their backends. errors: a backend's own.
[[nodiscard]] inline Status add_delegates(std::span<const Delegate> delegates, MethodMemory& to) {
  for (const Delegate& delegate : delegates) {
    auto found = memory_of(delegate);
    if (!found.ok()) {
      return std::move(found).status().with_context(
          concat("delegate ", &delegate - delegates.data()));
    }
    to.delegates.push_back(*std::move(found));
    TENON_RETURN_IF_ERROR(add_backend_memory(*delegate.use, to.backends));
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
