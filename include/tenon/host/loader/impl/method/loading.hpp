// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/impl/method/page_source.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "tenon/host/loader/registry/registry.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A delegate whose `init` follows or has returned, for the parts of layers.
struct DelegateLoad {
  std::size_t index;  ///< Among the method's delegates.
  const schema::BackendDelegate& from;
  const BackendUse& use;
  InitCall& context;
  Delegate& out;
};

/// A load that is going on, and what its delegates have in common.
struct Loading {
  MethodState& method;
  const tenon_tracer* tracer = nullptr;    ///< Null where events are not recorded.
  Arena* lent = nullptr;                   ///< What delegates get from the runtime allocator.
  const Service* init_services = nullptr;  ///< Of each `init`; parts add to them in `before_load`.
  const Service* call_services = nullptr;  ///< Of each call of a delegate or kernel; the same.
  PageSource* pages = nullptr;  ///< Of planned memory; null: the host's allocators alone.
  bool keeps_time = false;      ///< A part ends runs at `limits.run_milliseconds`.
  MethodParts during{};         ///< Of this load alone, for what tables of layers are asked in it.
  /// The delegate whose backend could not be found, asked or loaded, when that ended the load.
  std::optional<std::size_t> failed_delegate{};

  /// Loads one delegate in ExecuTorch's order (BackendDelegate::Init, runtime/executor/method.cpp):
  /// look-up, availability, blob, compile specs, `init`.
  [[nodiscard]] Status load(std::size_t index, const schema::BackendDelegate& serialized,
                            Delegate& out) {
    const std::string_view id = serialized.id()->string_view();
    const BackendUse* use = method.uses.find(id);
    if (!use) [[unlikely]] {
      TENON_TRY(use, open_backend(id));
    }
    if (!method.parts.empty()) [[unlikely]] {
      TENON_RETURN_IF_ERROR(admit(*use->backend));
    }
    const LoadedBackend& backend = *use->backend;
    TENON_RETURN_IF_ERROR(backend.is_available());

    const std::span<const std::byte> blob = method.program->view().delegate_data(serialized);
    out.processed = {sizeof(tenon_buffer),
                     0,
                     blob.empty() ? nullptr : blob.data(),
                     blob.size(),
                     const_cast<Program*>(method.program.get()),
                     &release_processed};

    InitCall context;
    const Service itself{&loading_key, this, init_services};
    context.services = &itself;
    context.host = backend.host();
    context.method_name = method.name.data();
    context.processed = &out.processed;
    TENON_RETURN_IF_ERROR(fill_compile_specs(serialized, method.arena, context));
    context.runtime_allocator = lent->table();
    context.named_data_map = method.named_data;
    context.tracer = tracer;
    context.runtime_specs = use->runtime_specs.data();
    context.num_runtime_specs = static_cast<std::uint32_t>(use->runtime_specs.size());

    out.use = use;
    if (!method.parts.empty()) [[unlikely]] {
      DelegateLoad delegate{index, serialized, *use, context, out};
      for (const auto& part : method.parts) {
        TENON_RETURN_IF_ERROR(part->init_context(*this, delegate));
      }
    }
    const std::uint64_t before = lent->num_handed_out();
    const tenon_status status = backend.api().init(backend.raw(), &context, &out.handle);
    out.lent = lent->num_handed_out() - before;
    out.execute_function = backend.api().execute;
    out.backend = backend.raw();
    out.context = &use->context;
    if (method.parts.empty() && status == TENON_STATUS_OK) [[likely]]
      return ok();
    return end_init(status, {index, serialized, *use, context, out});
  }

  /// The backend of `delegate`, which all parts admit. It stays in `uses`.
  Result<const BackendUse*> backend_of(const schema::BackendDelegate& delegate) {
    TENON_TRY(const BackendUse* const use, use_backend(delegate.id()->string_view()));
    TENON_RETURN_IF_ERROR(admit(*use->backend));
    return use;
  }

  /// The backend with `id`, which stays in `uses`.
  Result<const BackendUse*> use_backend(std::string_view id) {
    if (const BackendUse* known = method.uses.find(id)) return known;
    return open_backend(id);
  }

 private:
  /// A delegate that is destroyed unless its load succeeds.
  struct Loaded {
    ~Loaded() { destroy(); }
    void destroy() {
      if (const Delegate* const there = std::exchange(delegate, nullptr)) there->destroy();
    }
    const Delegate* delegate;
  };

  /// The outcome of `init`, which returned `status`, after the parts. Without success there is no
  /// delegate, also where there is no memory for a part's text.
  [[gnu::cold]] Status end_init(tenon_status status, DelegateLoad load) {
    Loaded loaded{status == TENON_STATUS_OK ? &load.out : nullptr};
    Status outcome;
    if (!loaded.delegate) outcome = take_last_error(load.use.backend->host(), status);
    for (const auto& part : method.parts) {
      outcome = part->after_init(*this, load, std::move(outcome));
      if (!outcome.ok()) loaded.destroy();
    }
    if (outcome.ok()) {
      loaded.delegate = nullptr;
      return ok();
    }
    release_processed(&load.out.processed);
    return std::move(outcome).with_context("init");
  }

  /// Whether all parts let the method have `backend`.
  Status admit(const LoadedBackend& backend) {
    for (const auto& part : method.parts) {
      TENON_RETURN_IF_ERROR(part->admit(*this, backend));
    }
    return ok();
  }

  /// Puts the backend with `id` into `uses`, which lack it.
  Result<const BackendUse*> open_backend(std::string_view id) {
    TENON_TRY(BackendRef backend,
              find_backend(method.options.backends, method.options.registry, id));
    BackendUse* const use = method.uses.add(id);
    if (!use) return error(Error::MemoryAllocationFailed, "no memory for backend ", id);
    use->context = {backend->host(), method.name.data(),     method.temp_arena.table(),
                    tracer,          method.changes.table(), call_services};
    use->backend = std::move(backend);
    const std::vector<BackendOption>& options = method.options.backend_options;
    if (!options.empty()) use->runtime_specs = runtime_specs_of(options, id);
    return use;
  }
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
