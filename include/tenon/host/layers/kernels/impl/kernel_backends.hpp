// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/kernels/kernel_backends.hpp"

#include <iterator>
#include <new>
#include <utility>

#include "tenon/host/layers/discovery/provider_registry.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

std::vector<std::string> find_kernel_backends(std::span<const BackendRef> named,
                                              const Registry* registry) {
  std::vector<std::string> ids;
  const auto add = [&](const BackendRecord& record) {
    bool is_new = record.offers_kernels;
    for (const std::string& id : ids) is_new = is_new && id != record.id;
    if (is_new) ids.push_back(record.id);
  };
  for (const BackendRef& backend : named) {
    if (backend) add(backend->record());
  }
  const ProviderRegistry* const providers = ProviderRegistry::of(registry);
  if (!providers) return ids;
  std::vector<BackendInfo> known;
  for (BackendInfo& info : providers->enumerate_backends()) {
    if (info.state != BackendState::known && info.state != BackendState::loaded) continue;
    bool hidden = false;
    for (const std::string& tag : info.backend()->tags) {
      for (const std::string_view excluded : ProviderRegistry::default_exclude_tags) {
        hidden = hidden || tag == excluded;
      }
    }
    if (hidden && info.source->search_path_kind != SearchPathKind::application) continue;
    // Behind the backends of at least its priority.
    auto at = known.end();
    while (at != known.begin() && std::prev(at)->backend()->priority < info.backend()->priority) {
      --at;
    }
    known.insert(at, std::move(info));
  }
  for (const BackendInfo& info : known) add(*info.backend());
  return ids;
}

Result<std::vector<std::string>> list_operators(const LoadedBackend& backend) {
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

Result<tenon_kernels_v1> usable_kernels(const LoadedBackend& backend) {
  TENON_RETURN_IF_ERROR(backend.is_available());
  const auto table = backend.extension<tenon_kernels_v1>(TENON_EXTENSION_KERNELS);
  if (table && table->create_kernel && table->run_kernel && table->destroy_kernel) return *table;
  return error(Error::NotSupported, "it says that it offers kernels, but has no complete ",
               TENON_EXTENSION_KERNELS, " (TN-KRN-1)");
}

Result<tenon_kernel*> create_kernel(const LoadedBackend& backend, const tenon_kernels_v1& table,
                                    const std::string& op, std::span<tenon_value* const> args) {
  tenon_kernel* made = nullptr;
  const tenon_kernel_context context = {sizeof context, static_cast<std::uint32_t>(args.size()),
                                        op.c_str(), args.empty() ? nullptr : args.data()};
  const tenon_status status = table.create_kernel(backend.raw(), &context, &made);
  if (status != TENON_STATUS_OK) return take_last_error(backend.host(), status);
  if (!made) return error(Error::Internal, "create_kernel succeeded without a kernel (TN-KRN-7)");
  return made;
}

}}}  // namespace tenon::TENON_RELEASE::host
