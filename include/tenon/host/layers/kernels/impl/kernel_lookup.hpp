// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/abi/extensions/kernels.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/discovery/provider_registry.hpp"
#include "tenon/host/layers/kernels/impl/kernel_lookup_table.hpp"
#include "tenon/host/layers/kernels/impl/kernel_providers.hpp"
#include "tenon/host/layers/kernels/kernel_backends.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

/// Kernels of plugins for delegates, which call operators that they have no code for.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The data of a method for the kernels that its delegates call. All that it refers to must outlive
/// them.
struct FoundKernelCalls {
  const char* method_name = nullptr;
  const tenon_tracer* tracer = nullptr;  ///< Null where events are not recorded.
  const Service* services = nullptr;     ///< Of the calls of the method.
};

/// The plugin of a kernel, and what the method gives to it. Each kernel has a copy.
struct PluginFoundKernelNeeds {
  BackendRef backend;  ///< Keeps the plugin loaded.
  tenon_kernels_v1 table{};
  FoundKernelCalls calls;
};

/// A found kernel of a plugin, with temporary memory of its own. Its arguments are not the
/// method's: no changes are counted for them.
class PluginFoundKernel final : public HostFoundKernel {
 public:
  [[nodiscard]] static Result<std::unique_ptr<HostFoundKernel>> create(
      const PluginFoundKernelNeeds& needs, const std::string& op,
      std::span<tenon_value* const> args) {
    std::unique_ptr<PluginFoundKernel> out(new PluginFoundKernel(needs, op));
    TENON_TRY(out->handle_, create_kernel(*needs.backend, needs.table, op, args));
    return std::unique_ptr<HostFoundKernel>(std::move(out));
  }

  ~PluginFoundKernel() override {
    if (handle_) needs_.table.destroy_kernel(needs_.backend->raw(), handle_);
  }

  [[nodiscard]] Result<std::unique_ptr<HostFoundKernel>> clone(
      std::span<tenon_value* const> args) const override {
    auto made = create(needs_, op_, args);
    if (made.ok()) return made;
    return std::move(made).status().with_context(name());
  }

  [[nodiscard]] Status run() override {
    const tenon_status status = needs_.table.run_kernel(handle_, &context_);
    temp_.reset();
    if (status == TENON_STATUS_OK) [[likely]]
      return ok();
    return take_last_error(needs_.backend->host(), status).with_context(name());
  }

 private:
  PluginFoundKernel(const PluginFoundKernelNeeds& needs, const std::string& op)
      : needs_(needs),
        op_(op),
        context_(needs.backend->host(), needs.calls.method_name, temp_.table(), needs.calls.tracer,
                 nullptr, needs.calls.services) {}

  [[nodiscard]] std::string name() const {
    return concat("kernel ", op_, " (", needs_.backend->id(), ")");
  }

  PluginFoundKernelNeeds needs_;
  std::string op_;
  Arena temp_;
  CallContext context_;
  tenon_kernel* handle_ = nullptr;
};

/// Finds kernels of plugins for what delegates want to call. The backend that asks may answer as
/// any other, when it has kernels, too.
class PluginKernelLookup final : public KernelLookup {
 public:
  /// `providers` must outlive this object.
  PluginKernelLookup(KernelProviders& providers, const FoundKernelCalls& calls) noexcept
      : providers_(providers), calls_(calls) {}

  [[nodiscard]] Result<std::unique_ptr<HostFoundKernel>> find(
      const std::string& op, std::span<tenon_value* const> args) override {
    std::string answers;
    auto made = providers_.find(
        op,
        [&](const KernelProvider& provider) {
          return PluginFoundKernel::create({provider.backend, *provider.table, calls_}, op, args);
        },
        [&](std::string_view id, std::string_view answer) {
          answers += concat(answers.empty() ? ": " : "; ", id, ": ", answer);
        });
    if (!made.ok() || *made) return made;
    return error(Error::OperatorMissing, "no plugin has a kernel for ", op,
                 answers.empty() ? ": none that is known offers kernels" : answers);
  }

 private:
  KernelProviders& providers_;
  FoundKernelCalls calls_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
