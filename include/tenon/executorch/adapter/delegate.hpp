// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/backend/interface.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/core/result.hpp"
#include "tenon/executorch/adapter/arguments.hpp"
#include "tenon/executorch/adapter/contexts.hpp"
#include "tenon/executorch/adapter/options.hpp"
#include "tenon/executorch/adapter/plugin_named_data.hpp"
#include "tenon/host/layers/code/code_permission.hpp"
#include "tenon/host/layers/code/embedded_code.hpp"
#include "tenon/host/layers/scheduling/threads_table.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge {
class PluginAdapter;
}}}  // namespace tenon::TENON_RELEASE::bridge

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::adapter {

/// One delegate of a plugin in a method of ExecuTorch: the target of a DelegateHandle. Owns
/// everything that the plugin may keep until `destroy`, at fixed addresses.
class AdaptedDelegate {
 public:
  /// `adapter`, whose `backend` it is, and `threads`, which may be null, must outlive this.
  AdaptedDelegate(const PluginAdapter& adapter, const host::LoadedBackend& backend,
                  const char* method_name, const tenon_thread_pool* threads)
      : adapter_(adapter),
        backend_(backend),
        run_(backend.api().execute),
        opened_(backend.raw()),
        method_name_(method_name ? method_name : ""),
        threads_(host::detail::threads_service(threads)),
        context_(backend.host(), method_name_.c_str(), &temp_, nullptr, nullptr, &threads_) {}
  AdaptedDelegate(const AdaptedDelegate&) = delete;
  AdaptedDelegate& operator=(const AdaptedDelegate&) = delete;

  /// Destroys the plugin's delegate, then the objects that were lent to it.
  ~AdaptedDelegate() {
    if (is_loaded_) backend_.api().destroy(opened_, handle_);
  }

  [[nodiscard]] const PluginAdapter& adapter() const noexcept { return adapter_; }

  /// Calls the plugin's `init`. After a failure this must not be used.
  [[nodiscard]] Status load(et::BackendInitContext& context, et::FreeableBuffer* processed,
                            et::ArrayRef<et::CompileSpec> compile_specs,
                            std::span<const host::OptionDeclaration> declared,
                            const host::EmbeddedCodePolicy& embedded_code) {
    const host::BackendRecord& record = backend_.record();
    if (record.runs_embedded_code) TENON_RETURN_IF_ERROR(embedded_code.check_backend(record.id));
    processed_.struct_size = sizeof processed_;
    if (Status filled = fill_buffer(*processed, processed_); !filled.ok()) {
      return std::move(filled).with_context("the blob");
    }
    named_data_.emplace(context.get_named_data_map());
    runtime_.memory = context.get_runtime_allocator();

    std::vector<tenon_compile_spec> specs;
    for (const et::CompileSpec& spec : compile_specs) {
      specs.push_back(
          {sizeof(tenon_compile_spec), 0, spec.key, spec.value.buffer, spec.value.nbytes});
    }
    TENON_TRY(const auto options, read_options(context.runtime_specs(), record.id, declared));
    const auto runtime_specs = host::detail::runtime_specs_of(options, record.id);
    trace(context.event_tracer());

    host::detail::CodePermission permission(embedded_code);
    host::detail::InitCall call;
    call.services = &threads_;
    permission.answer(call);
    call.host = backend_.host();
    call.method_name = method_name_.c_str();
    call.processed = &processed_;
    call.compile_specs = specs.data();
    call.num_compile_specs = static_cast<std::uint32_t>(specs.size());
    call.runtime_allocator = &runtime_;
    call.named_data_map = named_data_->abi();
    call.tracer = tracer_.table();
    call.runtime_specs = runtime_specs.data();
    call.num_runtime_specs = static_cast<std::uint32_t>(runtime_specs.size());

    const tenon_status status = backend_.api().init(opened_, &call, &handle_);
    if (status != TENON_STATUS_OK) {
      Status failure = host::take_last_error(backend_.host(), status);
      if (Status refusal = permission.take_refusal(); !refusal.ok()) failure = std::move(refusal);
      return failure;
    }
    is_loaded_ = true;
    return permission.check_policy(record.id, record.runs_embedded_code);
  }

  /// A call is: `is_prepared` or else `prepare`, then `run`, then `finish` unless there is nothing
  /// to finish. Allocates and locks nothing after the first call with the same `args`, unless it
  /// fails.
  ///
  /// Whether the last call was with `args`, whose current contents the plugin now sees. May be
  /// false for what `prepare` is for.
  [[nodiscard, gnu::always_inline]] inline bool is_prepared(et::Span<et::EValue*> args) noexcept {
    return arguments_.last().refresh_tensors(args);
  }
  [[nodiscard]] Status prepare(et::Span<et::EValue*> args) { return arguments_.prepare(args); }

  /// Runs the plugin's `execute` once and returns its number.
  [[nodiscard, gnu::always_inline]] inline tenon_status run(et::BackendExecutionContext& context) {
    temp_.memory = context.get_temp_allocator();
    if (et::EventTracer* const tracer = context.event_tracer(); tracer != tracer_.tracer)
        [[unlikely]]
      trace(tracer);
    const ArgumentList& list = arguments_.last();
    return run_(opened_, handle_, &context_, list.values(), list.size());
  }

  /// After `is_prepared`: whether a call that succeeded has something to `finish`.
  [[nodiscard]] bool has_resized() noexcept { return arguments_.last().has_other_sizes(); }

  /// Passes what the plugin wrote to ExecuTorch. Returns the failure of the call.
  [[nodiscard]] Status finish(tenon_status status) {
    Status failure;
    if (status != TENON_STATUS_OK) failure = host::take_last_error(backend_.host(), status);
    arguments_.last().give_numbers();
    if (arguments_.last().has_other_sizes()) {
      Status given = arguments_.last().give_sizes();
      if (!given.ok() && failure.ok()) failure = std::move(given);
    }
    return failure;
  }

 private:
  /// Passes the plugin's events to `tracer` from now on; null: to nowhere.
  void trace(et::EventTracer* tracer) noexcept {
    tracer_.tracer = tracer;
    context_.tracer = tracer_.table();
  }

  const PluginAdapter& adapter_;
  const host::LoadedBackend& backend_;
  tenon_status (*run_)(tenon_backend*, tenon_delegate*, const tenon_execution_context*,
                       tenon_value* const*, std::uint32_t);
  tenon_backend* opened_;
  tenon_delegate* handle_ = nullptr;
  bool is_loaded_ = false;
  Arguments arguments_;
  BorrowedAllocator temp_;
  BorrowedTracer tracer_;
  BorrowedAllocator runtime_;
  tenon_buffer processed_{};
  std::optional<PluginNamedData> named_data_;
  std::string method_name_;
  const host::detail::Service threads_;  ///< Of `init` and of each call.
  host::detail::CallContext context_;
};

}}}  // namespace tenon::TENON_RELEASE::bridge::adapter
