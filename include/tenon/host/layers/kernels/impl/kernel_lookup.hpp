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
#include "tenon/host/layers/kernels/impl/kernel_lookup_table.hpp"
#include "tenon/host/layers/kernels/impl/kernel_providers.hpp"
#include "tenon/host/layers/kernels/kernel_backends.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/plugin/host_execution_context.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"
#include "tenon/host/loader/registry/registry.hpp"

/// Kernels of plugins for delegates, which call operators that they have no code for.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The plugin of a kernel, and what the method gives to it. Each kernel has a copy.
struct PluginFoundKernelNeeds {
  BackendRef backend;  ///< Keeps the plugin loaded.
  tenon_kernels_v1 table{};
  const char* method_name = nullptr;
  const tenon_tracer* tracer = nullptr;
  const tenon_thread_pool* threads = nullptr;
  const std::uint32_t* cancel_flag = nullptr;
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
        context_(needs.backend->host(), needs.method_name, temp_.table(), needs.tracer, nullptr,
                 needs.cancel_flag, needs.threads) {}

  [[nodiscard]] std::string name() const {
    return concat("kernel ", op_, " (", needs_.backend->id(), ")");
  }

  PluginFoundKernelNeeds needs_;
  std::string op_;
  Arena temp_;
  HostExecutionContext context_;
  tenon_kernel* handle_ = nullptr;
};

}  // namespace detail

/// Asks plugins for the kernels that delegates want. Plugins that no kernel is of are released with
/// this object.
///
/// The backend that asks may answer as any other, when it has kernels, too.
class PluginKernelLookup final : public detail::KernelLookup {
 public:
  /// The arguments must outlive this object; all but the first two also all kernels, whose runs
  /// can be cancelled by `cancel_flag`. All but the first and `method_name` may be null.
  PluginKernelLookup(std::span<const BackendRef> backends, const BackendRegistry* registry,
                     const char* method_name, const tenon_tracer* tracer = nullptr,
                     const tenon_thread_pool* threads = nullptr,
                     const std::uint32_t* cancel_flag = nullptr) noexcept
      : backends_(backends),
        registry_(registry),
        method_name_(method_name),
        tracer_(tracer),
        threads_(threads),
        cancel_flag_(cancel_flag) {}

  [[nodiscard]] Result<std::unique_ptr<detail::HostFoundKernel>> find(
      const std::string& op, std::span<tenon_value* const> args) override;

 private:
  std::span<const BackendRef> backends_;
  const BackendRegistry* registry_;
  const char* method_name_;
  const tenon_tracer* tracer_;
  const tenon_thread_pool* threads_;
  const std::uint32_t* cancel_flag_;
  detail::KernelProviders providers_;
};

}}}  // namespace tenon::TENON_RELEASE::host

namespace tenon { inline namespace TENON_RELEASE { namespace host {

inline Result<std::unique_ptr<detail::HostFoundKernel>> PluginKernelLookup::find(
    const std::string& op, std::span<tenon_value* const> args) {
  std::string answers;
  auto made = providers_.find(
      backends_, registry_, op,
      [&](const std::string& id) { return find_backend(backends_, registry_, id); },
      [&](const detail::KernelProvider& provider) {
        return detail::PluginFoundKernel::create(
            {provider.backend, *provider.table, method_name_, tracer_, threads_, cancel_flag_}, op,
            args);
      },
      [&](std::string_view id, std::string_view answer) {
        answers += concat(answers.empty() ? ": " : "; ", id, ": ", answer);
      });
  if (!made.ok() || *made) return made;
  return error(Error::OperatorMissing, "no plugin has a kernel for ", op,
               answers.empty() ? ": none that is known offers kernels" : answers);
}

}}}  // namespace tenon::TENON_RELEASE::host
