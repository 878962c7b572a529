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
#include "tenon/host/layers/code/code_permission.hpp"
#include "tenon/host/layers/prepared/impl/blob_preparation.hpp"
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
  const tenon_tracer* tracer = nullptr;          ///< Null where events are not recorded.
  const tenon_scheduling* scheduling = nullptr;  ///< Null without hints.
  Arena* lent = nullptr;                         ///< What delegates get from the runtime allocator.
  const Service* init_services = nullptr;  ///< Of each `init`; parts add to them in `before_load`.
  const Service* call_services = nullptr;  ///< Of each call of a delegate or kernel; the same.
  PageSource* pages = nullptr;  ///< Of planned memory; null: the host's allocators alone.
  MethodParts during{};         ///< Of this load alone, for what tables of layers are asked in it.

  /// Loads one delegate in ExecuTorch's order (BackendDelegate::Init, runtime/executor/method.cpp):
  /// look-up, availability, blob, compile specs, `init`. The policy for embedded code
  /// precedes all that needs the blob.
  [[nodiscard]] Status load(std::size_t index, const schema::BackendDelegate& serialized,
                            Delegate& out) {
    const BackendUse* use = method.uses.find(serialized.id()->string_view());
    if (!use) {
      TENON_TRY(use, open_backend(serialized.id()->string_view()));
    }
    const LoadedBackend& backend = *use->backend;
    const BackendRecord& record = backend.record();
    if (record.runs_embedded_code)
      TENON_RETURN_IF_ERROR(method.options.embedded_code.check_backend(record.id));
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
    CodePermission permission(method.options.embedded_code);
    permission.answer(context);
    context.host = backend.host();
    context.method_name = method.name.data();
    context.processed = &out.processed;
    TENON_RETURN_IF_ERROR(fill_compile_specs(serialized, method.arena, context));
    context.runtime_allocator = lent->table();
    context.named_data_map = method.named_data;
    context.tracer = tracer;
    context.runtime_specs = use->runtime_specs.data();
    context.num_runtime_specs = static_cast<std::uint32_t>(use->runtime_specs.size());
    context.scheduling = scheduling;
    std::optional<BlobPreparation> preparation;
    Service opener;
    if (const PreparedStore* const prepared = method.options.prepared) [[unlikely]] {
      PreparedOpener& opens = preparation.emplace(*prepared, backend);
      opener = {&PreparedOpener::key, &opens, context.services};
      context.services = &opener;
    }

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
    if (method.parts.empty() && status == TENON_STATUS_OK &&
        permission.respects_policy(record.runs_embedded_code)) [[likely]]
      return ok();
    return end_init(status, {index, serialized, *use, context, out}, permission);
  }

  /// The backend with `id`, which stays in `uses`.
  Result<const BackendUse*> use_backend(std::string_view id) {
    if (const BackendUse* known = method.uses.find(id)) return known;
    return open_backend(id);
  }

 private:
  /// The outcome of `init`, which returned `status`, after the policy and the parts. Without
  /// success there is no delegate.
  [[gnu::cold]] Status end_init(tenon_status status, DelegateLoad delegate,
                                CodePermission& permission) {
    const LoadedBackend& backend = *delegate.use.backend;
    bool is_there = status == TENON_STATUS_OK;
    const auto destroy = [&] {
      if (std::exchange(is_there, false)) delegate.out.destroy();
    };
    Status outcome;
    if (!is_there) {
      outcome = take_last_error(backend.host(), status);
      if (Status refusal = permission.take_refusal(); !refusal.ok()) outcome = std::move(refusal);
    } else if (const BackendRecord& record = backend.record();
               !permission.respects_policy(record.runs_embedded_code)) {
      destroy();  // Before a text, for which there may be no memory.
      outcome = permission.check_policy(record.id, record.runs_embedded_code);
    }
    for (const auto& part : method.parts) {
      outcome = part->after_init(*this, delegate, std::move(outcome));
      if (!outcome.ok()) destroy();
    }
    if (outcome.ok()) return ok();
    release_processed(&delegate.out.processed);
    return std::move(outcome).with_context("init");
  }

  /// The same of a backend that is not in `uses` yet.
  Result<const BackendUse*> open_backend(std::string_view id) {
    TENON_TRY(BackendRef backend,
              find_backend(method.options.backends, method.options.registry, id));
    BackendUse* const use = method.uses.add(id);
    if (!use) return error(Error::MemoryAllocationFailed, "no memory for backend ", id);
    use->context = {backend->host(), method.name.data(),     method.temp_arena.table(),
                    tracer,          method.changes.table(), call_services};
    if (method.control) {
      const auto table = backend->extension<tenon_cancel_v1>(TENON_EXTENSION_CANCEL);
      if (table) use->cancel = table->cancel;
    }
    use->backend = std::move(backend);
    const std::vector<BackendOption>& options = method.options.backend_options;
    if (!options.empty()) use->runtime_specs = runtime_specs_of(options, id);
    return use;
  }
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
