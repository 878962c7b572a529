// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/backend/backend_execution_context.h>
#include <executorch/runtime/backend/backend_init_context.h>
#include <executorch/runtime/backend/interface.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/private/changes.h"
#include "tenon/backend/context.hpp"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/executorch/backend/allocator.hpp"
#include "tenon/executorch/backend/bridged_call.hpp"
#include "tenon/executorch/backend/call_sites.hpp"
#include "tenon/executorch/backend/event_tracer.hpp"
#include "tenon/executorch/backend/named_data.hpp"
#include "tenon/executorch/error.hpp"
#include "tenon/executorch/options.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

/// One loaded blob of a backend of ExecuTorch's, with everything that ExecuTorch keeps for as long
/// as the handle lives: such a backend may have kept the address of any of it.
class BridgedDelegate {
 public:
  BridgedDelegate(const tenon_host* host, const et::BackendInterface& backend,
                  std::shared_ptr<HostAllocator> runtime_allocator) noexcept
      : host_(host), backend_(backend), runtime_allocator_(std::move(runtime_allocator)) {}
  BridgedDelegate(const BridgedDelegate&) = delete;
  BridgedDelegate& operator=(const BridgedDelegate&) = delete;

  ~BridgedDelegate() {
    if (!is_initialised_) return;
    BridgedCall call(host_);
    const Status destroyed = call.run("destroy", [&] {
      backend_.destroy(handle_);
      return ok();
    });
    // `destroy` cannot report a failure; the host's log has the reason.
    static_cast<void>(destroyed);
  }

  /// Loads the blob. Once, and on failure the object is to be thrown away.
  [[nodiscard]] Status init(const tenon_init_context& context) {
    method_name_ = context.method_name;
    copy_compile_specs({context.compile_specs, context.num_compile_specs});
    TENON_RETURN_IF_ERROR(copy_runtime_specs(context));
    if (context.named_data_map) {
      TENON_TRY(named_data_, HostNamedDataMap::create(*context.named_data_map));
    }
    processed_.emplace(to_freeable(*context.processed));
    tracer_.use(context.tracer);
    et::BackendInitContext init_context(
        runtime_allocator_.get(), context.tracer ? &tracer_ : nullptr, method_name_.c_str(),
        named_data_.get(), {runtime_specs_.data(), runtime_specs_.size()});
    BridgedCall call(host_);
    Status outcome = call.run("init", [&]() -> Status {
      const auto handle =
          backend_.init(init_context, &*processed_, {compile_specs_.data(), compile_specs_.size()});
      if (!handle.ok()) return call.failure(handle.error(), "init");
      handle_ = *handle;
      is_initialised_ = true;
      return ok();
    });
    tracer_.use(nullptr);
    return outcome;
  }

  /// Runs it once. Allocates nothing after the first call with an argument list.
  [[nodiscard]] Status execute(const tenon_execution_context& context,
                               std::span<tenon_value* const> args) {
    temp_allocator_.use(context.temp_allocator);
    tracer_.use(context.tracer);
    et::BackendExecutionContext execution_context(context.tracer ? &tracer_ : nullptr,
                                                  &temp_allocator_, method_name_.c_str());
    ArgumentMirror& mirror = call_sites_.find(args);
    tenon_changes* const changes = changes_.find(context);
    mirror.is_counted = changes != nullptr;
    BridgedCall call(host_);
    Status outcome = call.run("execute", [&]() -> Status {
      if (!changes || !mirror.is_current(*changes, args)) [[unlikely]] {
        TENON_RETURN_IF_ERROR(mirror.update(args));
        if (changes) mirror.remember(*changes);
      }
      if (!mirror.is_judged) [[unlikely]]
        TENON_RETURN_IF_ERROR(signature_.check(args));
      const et::Error executed = backend_.execute(execution_context, handle_, mirror.values());
      if (executed != et::Error::Ok) [[unlikely]]
        return call.failure(executed, "execute");
      if (!mirror.is_judged) [[unlikely]] {
        signature_.learn(args);
        mirror.is_judged = true;
      }
      return mirror.finish(context.host, changes, false);
    });
    if (!outcome.ok()) [[unlikely]]
      mirror.clear();
    return outcome;
  }

 private:
  void copy_compile_specs(CompileSpecs specs) {
    // Texts must not move, because others point into them.
    keys_.reserve(specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const CompileSpec spec = specs[i];
      keys_.emplace_back(spec.key);
      compile_specs_.push_back(
          {keys_.back().c_str(), {const_cast<std::byte*>(spec.value.data()), spec.value.size()}});
    }
  }

  Status copy_runtime_specs(const tenon_init_context& context) {
    const tenon::detail::StridedArray specs(context.runtime_specs, context.num_runtime_specs);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      TENON_TRY(auto option, to_backend_option(specs[i].key, OptionView(specs[i])));
      runtime_specs_.push_back(option);
    }
    return ok();
  }

  const tenon_host* host_;
  const et::BackendInterface& backend_;
  et::DelegateHandle* handle_ = nullptr;
  bool is_initialised_ = false;
  std::string method_name_;
  std::vector<std::string> keys_;
  std::vector<et::CompileSpec> compile_specs_;
  std::vector<et::BackendOption> runtime_specs_;
  std::shared_ptr<HostAllocator> runtime_allocator_;
  HostAllocator temp_allocator_;
  std::unique_ptr<HostNamedDataMap> named_data_;
  std::optional<et::FreeableBuffer> processed_;
  HostEventTracer tracer_;
  CallSites call_sites_;
  Signature signature_;
  HostChanges changes_;
};

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
