// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/kernels.h"
#include "tenon/core/result.hpp"
#include "tenon/host/backend.hpp"
#include "tenon/host/backend_ref.hpp"
#include "tenon/host/last_error.hpp"
#include "tenon/host/registry.hpp"

/// Which plugins have code for operators that were left in a program.
namespace tenon::host {

/// Ids of the backends that a method asks for kernels, in this order: those of `named` whose record
/// says that they have some; then those of `registry`, the highest priority first, equal ones by
/// id. A backend that a search found counts only without the tags of
/// BackendRegistry::default_exclude_tags: nobody asked for it. `registry` may be null. Loads
/// nothing.
[[nodiscard]] inline std::vector<std::string> find_kernel_backends(
    std::span<const BackendRef> named, const BackendRegistry* registry) {
  std::vector<std::string> ids;
  const auto add = [&](const BackendRecord& record) {
    if (!record.offers_kernels || std::ranges::find(ids, record.id) != ids.end()) return;
    ids.push_back(record.id);
  };
  for (const BackendRef& backend : named) {
    if (backend) add(backend->record());
  }
  if (!registry) return ids;
  std::vector<BackendInfo> known;
  for (BackendInfo& info : registry->enumerate_backends()) {
    if (info.state != BackendState::known && info.state != BackendState::loaded) continue;
    const bool hidden = std::ranges::any_of(info.backend()->tags, [](const std::string& tag) {
      return std::ranges::count(BackendRegistry::default_exclude_tags, tag) != 0;
    });
    if (hidden && info.candidate->place != PlaceKind::application) continue;
    known.push_back(std::move(info));
  }
  std::ranges::stable_sort(known, std::ranges::greater(),
                           [](const BackendInfo& info) { return info.backend()->priority; });
  for (const BackendInfo& info : known) add(*info.backend());
  return ids;
}

/// The operators that a backend has kernels for, in its order; none when it has no extension
/// "tenon.kernels/1".
///
/// threads: any. errors: the backend's own; MemoryAllocationFailed.
[[nodiscard]] inline Result<std::vector<std::string>> list_operators(const Backend& backend) {
  std::vector<std::string> operators;
  const auto table = backend.extension<tenon_kernels_v1>(TENON_EXTENSION_KERNELS);
  if (!table || !table->list_operators) return operators;
  struct Sink {
    std::vector<std::string>& operators;
    bool out_of_memory = false;
  } sink{operators};
  // No exception may pass through the plugin's frames.
  const auto take = [](void* context, const char* op) noexcept {
    auto& out = *static_cast<Sink*>(context);
    if (!op) return;
    try {
      out.operators.emplace_back(op);
    } catch (const std::bad_alloc&) {
      out.out_of_memory = true;
    }
  };
  const tenon_status status = table->list_operators(backend.raw(), take, &sink);
  if (status != TENON_STATUS_OK) {
    return take_last_error(backend.host(), status)
        .with_context(concat("backend ", backend.id(), ": list_operators"));
  }
  if (sink.out_of_memory) {
    return error(Error::MemoryAllocationFailed, "backend ", backend.id(),
                 ": its list of operators");
  }
  return operators;
}

}  // namespace tenon::host
