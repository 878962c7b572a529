// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/backend/interface.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/core/result.hpp"
#include "tenon/executorch/adapter/arguments.hpp"
#include "tenon/executorch/adapter/contexts.hpp"
#include "tenon/executorch/adapter/options.hpp"
#include "tenon/executorch/adapter/plugin_named_data.hpp"
#include "tenon/host/method/embedded_code.hpp"
#include "tenon/host/method/host_init_context.hpp"
#include "tenon/host/plugin/backend.hpp"
#include "tenon/host/plugin/last_error.hpp"

namespace tenon::bridge::adapter {

/// One delegate of a plugin in a method of ExecuTorch: the target of a DelegateHandle. Owns
/// everything that the plugin may keep until `destroy`, at fixed addresses.
class AdaptedDelegate {
 public:
  /// `backend` must outlive this.
  AdaptedDelegate(const host::LoadedBackend& backend, const char* method_name)
      : backend_(backend),
        run_(backend.api().execute),
        opened_(backend.raw()),
        method_name_(method_name ? method_name : "") {
    context_ = {
        sizeof(tenon_execution_context), 0, backend.host(), method_name_.c_str(), &temp_, nullptr};
  }
  AdaptedDelegate(const AdaptedDelegate&) = delete;
  AdaptedDelegate& operator=(const AdaptedDelegate&) = delete;

  /// Destroys the plugin's delegate, then the objects that were lent to it.
  ~AdaptedDelegate() {
    if (is_loaded_) backend_.api().destroy(opened_, handle_);
  }

  /// Calls the plugin's `init`. After a failure this must not be used.
  [[nodiscard]] Status load(et::BackendInitContext& context, et::FreeableBuffer* processed,
                            et::ArrayRef<et::CompileSpec> compile_specs, const OptionTable& options,
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
    RuntimeSpecs runtime_specs;
    TENON_RETURN_IF_ERROR(runtime_specs.read(context.runtime_specs(), options));
    tracer_.tracer = context.event_tracer();

    host::detail::HostInitContext call(embedded_code);
    call.host = backend_.host();
    call.method_name = method_name_.c_str();
    call.processed = &processed_;
    call.compile_specs = specs.data();
    call.num_compile_specs = static_cast<std::uint32_t>(specs.size());
    call.runtime_allocator = &runtime_;
    call.named_data_map = named_data_->abi();
    call.tracer = tracer_.table();
    call.runtime_specs = runtime_specs.options().data();
    call.num_runtime_specs = static_cast<std::uint32_t>(runtime_specs.options().size());

    const tenon_status status = backend_.api().init(opened_, &call, &handle_);
    if (status != TENON_STATUS_OK) {
      Status failure = host::take_last_error(backend_.host(), status);
      if (Status refusal = call.take_refusal(); !refusal.ok()) failure = std::move(refusal);
      return failure;
    }
    is_loaded_ = true;
    return call.check_kept(record.id, record.runs_embedded_code);
  }

  /// Runs the plugin's `execute` once. Returns its number and sets `failure`. Allocates and locks
  /// nothing after the first call with the same `args`, unless it fails.
  [[nodiscard]] tenon_status execute(et::BackendExecutionContext& context,
                                     et::Span<et::EValue*> args, Status& failure) {
    ArgumentList* list = arguments_.find(args);
    if (!list) [[unlikely]] {
      auto built = arguments_.build(args);
      if (!built.ok()) {
        failure = std::move(built).status();
        return to_status(failure.error());
      }
      list = *built;
    }
    temp_.memory = context.get_temp_allocator();
    tracer_.tracer = context.event_tracer();
    context_.tracer = tracer_.table();
    const tenon_status status = run_(opened_, handle_, &context_, list->values(), list->size());
    if (status != TENON_STATUS_OK) [[unlikely]] {
      failure = host::take_last_error(backend_.host(), status);
    }
    if (list->give_numbers()) {
      Status given = list->give_sizes();
      if (!given.ok() && failure.ok()) failure = std::move(given);
    }
    return to_status(failure.error());
  }

 private:
  const host::LoadedBackend& backend_;
  tenon_status (*run_)(tenon_backend*, tenon_delegate*, const tenon_execution_context*,
                       tenon_value* const*, std::uint32_t);
  tenon_backend* opened_;
  tenon_delegate* handle_ = nullptr;
  bool is_loaded_ = false;
  Arguments arguments_;
  tenon_execution_context context_{};
  BorrowedAllocator temp_;
  BorrowedAllocator runtime_;
  BorrowedTracer tracer_;
  tenon_buffer processed_{};
  std::optional<PluginNamedData> named_data_;
  std::string method_name_;
};

}  // namespace tenon::bridge::adapter
