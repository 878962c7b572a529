// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/extensions/kernels.h"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/plugin/backend.hpp"
#include "tenon/host/registry/backend_ref.hpp"

/// Plugins with code for operators that were left in a program.
namespace tenon::host {

class BackendRegistry;

/// Ids of the backends that a method asks for kernels, in this order: those of `named` whose record
/// offers some; then those of `registry`, the highest priority first, equal ones by id. A backend
/// that a search found, and the application did not name, counts only without the tags of
/// BackendRegistry::default_exclude_tags. `registry` may be null. Loads nothing.
[[nodiscard]] TENON_API std::vector<std::string> find_kernel_backends(
    std::span<const BackendRef> named, const BackendRegistry* registry);

/// The operators that a backend has kernels for, in its order; none when it has no extension
/// "tenon.kernels/1".
///
/// threads: any. errors: the backend's own; MemoryAllocationFailed.
[[nodiscard]] TENON_API Result<std::vector<std::string>> list_operators(
    const LoadedBackend& backend);

/// The kernels of a backend that can be used on this machine.
///
/// errors: NotFound when it is not available, NotSupported when it has no complete
/// "tenon.kernels/1".
[[nodiscard]] TENON_API Result<tenon_kernels_v1> usable_kernels(const LoadedBackend& backend);

/// A kernel of `backend`, whose `usable_kernels` are `table`, for one call of `op`. The plugin
/// keeps `args`, an address that must not change; the caller destroys the kernel.
///
/// errors: those of the plugin, OperatorMissing among them; Internal without a kernel.
[[nodiscard]] TENON_API Result<tenon_kernel*> create_kernel(const LoadedBackend& backend,
                                                            const tenon_kernels_v1& table,
                                                            const std::string& op,
                                                            std::span<tenon_value* const> args);

/// The one of `named` with `id`, else that of `registry`, which may be null.
///
/// errors: those of BackendRegistry::lookup_backend; NotFound without a registry.
[[nodiscard]] TENON_API Result<BackendRef> find_backend(std::span<const BackendRef> named,
                                                        const BackendRegistry* registry,
                                                        std::string_view id);

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include <iterator>
#include <new>
#include <utility>

#include "tenon/host/plugin/last_error.hpp"
#include "tenon/host/registry/registry.hpp"

namespace tenon::host {

TENON_API std::vector<std::string> find_kernel_backends(std::span<const BackendRef> named,
                                                        const BackendRegistry* registry) {
  std::vector<std::string> ids;
  const auto add = [&](const BackendRecord& record) {
    bool is_new = record.offers_kernels;
    for (const std::string& id : ids) is_new = is_new && id != record.id;
    if (is_new) ids.push_back(record.id);
  };
  for (const BackendRef& backend : named) {
    if (backend) add(backend->record());
  }
  if (!registry) return ids;
  std::vector<BackendInfo> known;
  for (BackendInfo& info : registry->enumerate_backends()) {
    if (info.state != BackendState::known && info.state != BackendState::loaded) continue;
    bool hidden = false;
    for (const std::string& tag : info.backend()->tags) {
      for (const std::string_view excluded : BackendRegistry::default_exclude_tags) {
        hidden = hidden || tag == excluded;
      }
    }
    if (hidden && info.source->search_path_kind != SearchPathKind::application) continue;
    // Behind those of at least its priority.
    auto at = known.end();
    while (at != known.begin() && std::prev(at)->backend()->priority < info.backend()->priority) {
      --at;
    }
    known.insert(at, std::move(info));
  }
  for (const BackendInfo& info : known) add(*info.backend());
  return ids;
}

TENON_API Result<std::vector<std::string>> list_operators(const LoadedBackend& backend) {
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

TENON_API Result<tenon_kernels_v1> usable_kernels(const LoadedBackend& backend) {
  TENON_RETURN_IF_ERROR(backend.is_available());
  const auto table = backend.extension<tenon_kernels_v1>(TENON_EXTENSION_KERNELS);
  if (table && table->create_kernel && table->run_kernel && table->destroy_kernel) return *table;
  return error(Error::NotSupported, "it says that it offers kernels, but has no complete ",
               TENON_EXTENSION_KERNELS, " (TN-KRN-1)");
}

TENON_API Result<tenon_kernel*> create_kernel(const LoadedBackend& backend,
                                              const tenon_kernels_v1& table, const std::string& op,
                                              std::span<tenon_value* const> args) {
  tenon_kernel* made = nullptr;
  const tenon_status status = table.create_kernel(backend.raw(), op.c_str(), args.data(),
                                                  static_cast<std::uint32_t>(args.size()), &made);
  if (status != TENON_STATUS_OK) return take_last_error(backend.host(), status);
  if (!made) return error(Error::Internal, "create_kernel succeeded without a kernel (TN-KRN-7)");
  return made;
}

TENON_API Result<BackendRef> find_backend(std::span<const BackendRef> named,
                                          const BackendRegistry* registry, std::string_view id) {
  for (const BackendRef& backend : named) {
    if (backend && backend->id() == id) return backend;
  }
  if (!registry) return error(Error::NotFound, "no backends are registered");
  return registry->lookup_backend(id);
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
