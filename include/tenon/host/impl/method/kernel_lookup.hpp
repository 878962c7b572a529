// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/kernels.h"
#include "tenon/core/result.hpp"
#include "tenon/host/impl/method/arena.hpp"
#include "tenon/host/impl/plugin/kernel_lookup.hpp"
#include "tenon/host/method/kernel_backends.hpp"
#include "tenon/host/plugin/host_execution_context.hpp"
#include "tenon/host/plugin/last_error.hpp"
#include "tenon/host/registry/backend_ref.hpp"
#include "tenon/host/registry/registry.hpp"

/// Kernels of plugins for delegates, which call operators that they have no code for.
namespace tenon::host {

namespace detail {

/// A plugin that has kernels, and what they need of the method. Each kernel has a copy.
struct KernelProvider {
  BackendRef backend;  ///< Keeps the plugin loaded.
  tenon_kernels_v1 table{};
  const char* method_name = nullptr;
  const tenon_tracer* tracer = nullptr;
};

/// A found kernel of a plugin, with temporary memory of its own. Its arguments are not the
/// method's: no changes are counted for them.
class PluginFoundKernel final : public HostFoundKernel {
 public:
  [[nodiscard]] static Result<std::unique_ptr<HostFoundKernel>> create(
      const KernelProvider& provider, const std::string& op, std::span<tenon_value* const> args) {
    std::unique_ptr<PluginFoundKernel> out(new PluginFoundKernel(provider, op));
    TENON_TRY(out->handle_, create_kernel(*provider.backend, provider.table, op, args));
    return std::unique_ptr<HostFoundKernel>(std::move(out));
  }

  ~PluginFoundKernel() override {
    if (handle_) provider_.table.destroy_kernel(provider_.backend->raw(), handle_);
  }

  [[nodiscard]] Result<std::unique_ptr<HostFoundKernel>> clone(
      std::span<tenon_value* const> args) const override {
    auto made = create(provider_, op_, args);
    if (made.ok()) return made;
    return std::move(made).status().with_context(name());
  }

  [[nodiscard]] Status run() override {
    const tenon_status status = provider_.table.run_kernel(handle_, &context_);
    temp_.reset();
    if (status == TENON_STATUS_OK) [[likely]]
      return ok();
    return take_last_error(provider_.backend->host(), status).with_context(name());
  }

 private:
  PluginFoundKernel(const KernelProvider& provider, const std::string& op)
      : provider_(provider),
        op_(op),
        context_(provider.backend->host(), provider.method_name, temp_.table(), provider.tracer) {}

  [[nodiscard]] std::string name() const {
    return concat("kernel ", op_, " (", provider_.backend->id(), ")");
  }

  KernelProvider provider_;
  std::string op_;
  Arena temp_;
  HostExecutionContext context_;
  tenon_kernel* handle_ = nullptr;
};

}  // namespace detail

/// Asks plugins for the kernels that delegates want, in the order of `find_kernel_backends`. One
/// that cannot be used, and one that answers OperatorMissing, leaves the call to the next. Nothing
/// is loaded before the first question; plugins that no kernel is of are released with this object.
///
/// The backend that asks may answer as any other, when it has kernels, too.
class PluginKernelLookup final : public detail::KernelLookup {
 public:
  /// The arguments must outlive this object, `method_name` and `tracer` also all kernels.
  /// `registry` and `tracer` may be null.
  PluginKernelLookup(std::span<const BackendRef> backends, const BackendRegistry* registry,
                     const char* method_name, const tenon_tracer* tracer = nullptr) noexcept
      : backends_(backends), registry_(registry), method_name_(method_name), tracer_(tracer) {}

  [[nodiscard]] Result<std::unique_ptr<detail::HostFoundKernel>> find(
      const std::string& op, std::span<tenon_value* const> args) override;

 private:
  struct Candidate {
    std::string id;
    bool is_opened = false;
    std::optional<detail::KernelProvider> provider{};
    std::string unusable{};  ///< Once opened: why there is no provider.
  };

  void open(Candidate& candidate) const;

  std::span<const BackendRef> backends_;
  const BackendRegistry* registry_;
  const char* method_name_;
  const tenon_tracer* tracer_;
  bool asked_ = false;
  std::vector<Candidate> candidates_;
};

}  // namespace tenon::host

namespace tenon::host {

inline Result<std::unique_ptr<detail::HostFoundKernel>> PluginKernelLookup::find(
    const std::string& op, std::span<tenon_value* const> args) {
  if (!std::exchange(asked_, true)) {
    for (std::string& id : find_kernel_backends(backends_, registry_)) {
      candidates_.push_back({std::move(id)});
    }
  }
  std::string answers;
  for (Candidate& candidate : candidates_) {
    if (!std::exchange(candidate.is_opened, true)) open(candidate);
    std::string answer = candidate.unusable;
    if (candidate.provider) {
      auto made = detail::PluginFoundKernel::create(*candidate.provider, op, args);
      if (made.ok()) return made;
      if (made.error() != Error::OperatorMissing) {
        return std::move(made).status().with_context(
            concat("kernel ", op, " (", candidate.id, ")"));
      }
      answer = made.text();
    }
    answers += concat(answers.empty() ? ": " : "; ", candidate.id, ": ", answer);
  }
  return error(Error::OperatorMissing, "no plugin has a kernel for ", op,
               answers.empty() ? ": none that is known offers kernels" : answers);
}

inline void PluginKernelLookup::open(Candidate& candidate) const {
  auto backend = find_backend(backends_, registry_, candidate.id);
  if (!backend.ok()) {
    candidate.unusable = backend.text();
    return;
  }
  const auto table = usable_kernels(**backend);
  if (!table.ok()) {
    candidate.unusable = table.text();
    return;
  }
  candidate.provider.emplace(
      detail::KernelProvider{*std::move(backend), *table, method_name_, tracer_});
}

}  // namespace tenon::host
