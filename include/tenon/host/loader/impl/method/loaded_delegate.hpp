// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/abi/extensions/cancel.h"
#include "tenon/abi/extensions/scheduling.h"
#include "tenon/abi/private/changes.h"
#include "tenon/core/application/native_handle.hpp"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/code/code_permission.hpp"
#include "tenon/host/layers/prepared/impl/blob_preparation.hpp"
#include "tenon/host/layers/trace/trace.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/loader/registry/registry.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

struct MethodState;
class PageSource;

/// A backend as one method uses it. Keeps the plugin loaded.
struct BackendUse {
  /// The program's: a backend may be registered under another name. In the method's arena.
  std::string_view id;
  BackendRef backend;
  CallContext context;
  std::vector<tenon_option> runtime_specs;
  /// Null unless runs of the method can be cancelled and the backend has "tenon.cancel/1".
  void (*cancel)(tenon_backend* backend, tenon_delegate* delegate) = nullptr;
  BackendUse* next = nullptr;  ///< See BackendUses.
};

/// The backends that one method uses, in the order in which it first needed them. Their addresses
/// are fixed.
class BackendUses {
 public:
  /// `arena` must outlive this object.
  explicit BackendUses(Arena& arena) noexcept : arena_(arena) {}
  BackendUses(const BackendUses&) = delete;
  BackendUses& operator=(const BackendUses&) = delete;
  ~BackendUses() {
    while (BackendUse* const use = first_) {
      first_ = use->next;
      use->~BackendUse();
    }
  }

  template <class Each>
  void for_each(const Each& each) const {
    for (const BackendUse* use = first_; use; use = use->next) each(*use);
  }

  /// The one with `id`, or null.
  [[nodiscard]] const BackendUse* find(std::string_view id) noexcept {
    // Most programs name one backend in all their delegates.
    if (latest_ && latest_->id == id) return latest_;
    for (BackendUse* use = first_; use; use = use->next) {
      if (use->id == id) return latest_ = use;
    }
    return nullptr;
  }

  /// One more, with a copy of `id`; null when there is no memory.
  [[nodiscard]] BackendUse* add(std::string_view id) noexcept {
    auto* text = arena_.allocate_list<char>(id.size());
    void* const bytes = arena_.allocate(sizeof(BackendUse), alignof(BackendUse));
    if (!text || !bytes) return nullptr;
    std::copy(id.begin(), id.end(), text);
    auto* const use = new (bytes) BackendUse();
    use->id = {text, id.size()};
    *end_ = use;
    end_ = &use->next;
    return latest_ = use;
  }

 private:
  Arena& arena_;
  BackendUse* first_ = nullptr;
  BackendUse** end_ = &first_;  // Where the next one is linked.
  BackendUse* latest_ = nullptr;
};

/// One delegate of a method. Its address is fixed from `init` to `destroy`: the plugin may keep
/// `processed`. What a call reads is in the first members.
struct Delegate {
  decltype(tenon_backend_api::execute) execute_function = nullptr;
  tenon_backend* backend = nullptr;
  tenon_delegate* handle = nullptr;  ///< Runs execute it: a layer may replace it between them.
  const tenon_execution_context* context = nullptr;

  const BackendUse* use = nullptr;
  tenon_buffer processed{};
  std::uint64_t lent = 0;  ///< Bytes that `init` took from the runtime allocator.

  Delegate() noexcept = default;
  Delegate(const Delegate&) = delete;
  Delegate& operator=(const Delegate&) = delete;

  [[nodiscard]] tenon_status execute(tenon_value* const* args, std::uint32_t num_args) const {
    return execute_function(backend, handle, context, args, num_args);
  }
  /// From any thread, while a run is going on.
  void cancel() const {
    if (use->cancel) use->cancel(backend, handle);
  }

  void destroy() const { use->backend->api().destroy(backend, handle); }
};

/// Gives the pages of a blob back to the system. `owner` doubles as the mark that it was done.
inline void release_processed(tenon_buffer* buffer) {
  const void* owner = __atomic_exchange_n(&buffer->owner, nullptr, __ATOMIC_ACQ_REL);
  if (!owner) return;
  const auto size = static_cast<std::size_t>(buffer->nbytes);
  static_cast<const Program*>(owner)->drop({static_cast<const std::byte*>(buffer->data), size});
  buffer->data = nullptr;
  buffer->nbytes = 0;
}

/// The compile specs of a delegate, in memory of `arena`; keys and values point into the program.
inline Status fill_compile_specs(const schema::BackendDelegate& serialized, Arena& arena,
                                 tenon_init_context& context) {
  const auto* from = serialized.compile_specs();
  if (!from || from->size() == 0) return ok();
  auto* specs = arena.allocate_list<tenon_compile_spec>(from->size());
  if (!specs) return error(Error::MemoryAllocationFailed, "no memory for the compile specs");
  for (flatbuffers::uoffset_t i = 0; i < from->size(); ++i) {
    const auto& spec = *from->Get(i);
    specs[i] = {sizeof(tenon_compile_spec), 0, spec.key()->c_str(), spec.value()->data(),
                spec.value()->size()};
  }
  context.compile_specs = specs;
  context.num_compile_specs = from->size();
  return ok();
}

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
  std::span<const std::unique_ptr<MethodPart>> parts;
  const Program& program;
  const char* method_name;
  const Registry* registry;
  std::span<const BackendRef> backends;
  const tenon_named_data_map* named_data;  ///< Null when there is none.
  Trace* trace;
  std::span<const BackendOption> options;
  const EmbeddedCodePolicy& embedded_code;
  Arena& arena;
  Arena* lent;  ///< What delegates get from the runtime allocator.
  Arena& temp_arena;
  tenon_changes* changes;
  const Service* init_services;        ///< Of each `init`; parts add to them in `before_load`.
  const Service* call_services;        ///< Of each call of a delegate or kernel; the same.
  bool is_cancellable;                 ///< Whether runs can be cancelled.
  const tenon_scheduling* scheduling;  ///< Null without hints.
  const PreparedStore* prepared;       ///< Null when nothing is kept.
  BackendUses& uses;
  PageSource* pages = nullptr;  ///< Of planned memory; null: the host's allocators alone.
  MethodParts during{};         ///< Of this load alone, for what tables of layers are asked in it.

  /// Loads one delegate in ExecuTorch's order (BackendDelegate::Init, runtime/executor/method.cpp):
  /// look-up, availability, blob, compile specs, `init`. The policy for embedded code
  /// precedes all that needs the blob.
  [[nodiscard]] Status load(std::size_t index, const schema::BackendDelegate& serialized,
                            Delegate& out) {
    const BackendUse* use = uses.find(serialized.id()->string_view());
    if (!use) {
      TENON_TRY(use, open_backend(serialized.id()->string_view()));
    }
    const LoadedBackend& backend = *use->backend;
    const BackendRecord& record = backend.record();
    if (record.runs_embedded_code) TENON_RETURN_IF_ERROR(embedded_code.check_backend(record.id));
    TENON_RETURN_IF_ERROR(backend.is_available());

    const std::span<const std::byte> blob = program.view().delegate_data(serialized);
    out.processed = {sizeof(tenon_buffer),
                     0,
                     blob.empty() ? nullptr : blob.data(),
                     blob.size(),
                     const_cast<Program*>(&program),
                     &release_processed};

    InitCall context;
    const Service itself{&loading_key, this, init_services};
    context.services = &itself;
    CodePermission permission(embedded_code);
    permission.answer(context);
    context.host = backend.host();
    context.method_name = method_name;
    context.processed = &out.processed;
    TENON_RETURN_IF_ERROR(fill_compile_specs(serialized, arena, context));
    context.runtime_allocator = lent->table();
    context.named_data_map = named_data;
    context.tracer = trace ? trace->table() : nullptr;
    context.runtime_specs = use->runtime_specs.data();
    context.num_runtime_specs = static_cast<std::uint32_t>(use->runtime_specs.size());
    context.scheduling = scheduling;
    std::optional<BlobPreparation> preparation;
    Service opener{&PreparedOpener::key, nullptr, context.services};
    if (prepared) {
      opener.value = static_cast<PreparedOpener*>(&preparation.emplace(*prepared, backend));
      context.services = &opener;
    }

    out.use = use;
    DelegateLoad delegate{index, serialized, *use, context, out};
    for (const auto& part : parts) TENON_RETURN_IF_ERROR(part->init_context(*this, delegate));
    const std::uint64_t before = lent->num_handed_out();
    const tenon_status status = backend.api().init(backend.raw(), &context, &out.handle);
    out.lent = lent->num_handed_out() - before;
    out.execute_function = backend.api().execute;
    out.backend = backend.raw();
    out.context = &use->context;
    if (parts.empty() && status == TENON_STATUS_OK &&
        permission.respects_policy(record.runs_embedded_code)) [[likely]]
      return ok();
    return end_init(status, delegate, permission);
  }

  /// The backend with `id`, which stays in `uses`.
  Result<const BackendUse*> use_backend(std::string_view id) {
    if (const BackendUse* known = uses.find(id)) return known;
    return open_backend(id);
  }

 private:
  /// The outcome of `init`, which returned `status`, after the policy and the parts. Without
  /// success there is no delegate.
  [[gnu::cold]] Status end_init(tenon_status status, DelegateLoad& delegate,
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
    for (const auto& part : parts) {
      outcome = part->after_init(*this, delegate, std::move(outcome));
      if (!outcome.ok()) destroy();
    }
    if (outcome.ok()) return ok();
    release_processed(&delegate.out.processed);
    return std::move(outcome).with_context("init");
  }

  /// The same of a backend that is not in `uses` yet.
  Result<const BackendUse*> open_backend(std::string_view id) {
    TENON_TRY(BackendRef backend, find_backend(backends, registry, id));
    BackendUse* const use = uses.add(id);
    if (!use) return error(Error::MemoryAllocationFailed, "no memory for backend ", id);
    use->context = {
        backend->host(), method_name,  temp_arena.table(), trace ? trace->table() : nullptr,
        changes,         call_services};
    if (is_cancellable) {
      const auto table = backend->extension<tenon_cancel_v1>(TENON_EXTENSION_CANCEL);
      if (table) use->cancel = table->cancel;
    }
    use->backend = std::move(backend);
    if (!options.empty()) use->runtime_specs = runtime_specs_of(options, id);
    return use;
  }
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
