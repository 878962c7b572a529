// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/kernels/plugin_kernels.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/kernels.h"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/kernels/impl/kernel_lookup.hpp"
#include "tenon/host/layers/kernels/impl/kernel_providers.hpp"
#include "tenon/host/layers/kernels/kernel_backends.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/method/kernels.hpp"
#include "tenon/host/loader/program/program_view.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// A kernel that a plugin made for one instruction. Destroyed with this object, whose address is
/// fixed. What a call reads begins it and is in one line of most processors' caches.
class alignas(64) PluginKernel {
 public:
  /// Empty; to be filled by `create`. `backend` must outlive it.
  PluginKernel(const LoadedBackend& backend, const tenon_kernels_v1& table) noexcept
      : run_(table.run_kernel), destroy_(table.destroy_kernel), backend_(backend) {}
  PluginKernel(const PluginKernel&) = delete;
  PluginKernel& operator=(const PluginKernel&) = delete;
  ~PluginKernel() {
    if (handle_) destroy_(backend_.raw(), handle_);
  }

  /// The answer of `create_kernel`, `args` being kept by the plugin. Internal without a kernel.
  [[nodiscard]] Status create(const tenon_kernels_v1& table, const std::string& op,
                              std::span<tenon_value* const> args) {
    TENON_TRY(handle_, create_kernel(backend_, table, op, args));
    return ok();
  }

  /// As instructions call it, from now on; `use`, of the same backend, must outlive it.
  [[nodiscard]] const Kernel* run_with(const BackendUse& use) noexcept {
    kernel_.owner = &use;
    context_ = &use.context;
    return &kernel_;
  }

 private:
  /// The plugin has the arguments already, and its context is the one with its own host table.
  static tenon_status run(void* self, const tenon_execution_context*, tenon_value* const*,
                          std::uint32_t) {
    const auto& kernel = *static_cast<const PluginKernel*>(self);
    return kernel.run_(kernel.handle_, kernel.context_);
  }

  Kernel kernel_{&run, this};
  decltype(tenon_kernels_v1::run_kernel) run_;
  tenon_kernel* handle_ = nullptr;
  const tenon_execution_context* context_ = nullptr;
  decltype(tenon_kernels_v1::destroy_kernel) destroy_;
  const LoadedBackend& backend_;
};

/// The data that kernels get which the delegates of a method call.
[[nodiscard]] inline FoundKernelCalls calls_of(const Loading& loading) noexcept {
  return {loading.method.name.data(), loading.tracer, loading.call_services};
}

/// The kernels of plugins that the instructions of one method call. It searches for them and for
/// its delegates' kernels.
class PluginKernelsPart final : public PartOf<PluginKernelsPart> {
 public:
  void search(const Loading& loading) { search_.emplace(loading); }

  [[nodiscard]] Status before_load(Loading& loading) override {
    search(loading);
    return ok();
  }

  /// The search for the delegates of the method, while it is loaded.
  [[nodiscard]] KernelLookup& lookup(const Loading& loading) {
    // Not earlier: other parts set what the kernels get.
    if (!search_->lookup) search_->lookup.emplace(search_->providers, calls_of(loading));
    return *search_->lookup;
  }

  [[nodiscard]] Result<const Kernel*> find_kernel(Loading& loading, const std::string& op,
                                                  std::span<tenon_value* const> args) override {
    const auto fill = [&](PluginKernel& kernel,
                          const KernelProvider& provider) -> Result<const Kernel*> {
      TENON_RETURN_IF_ERROR(kernel.create(*provider.table, op, args));
      // Not earlier: the method keeps no plugin that has no kernel for it.
      TENON_TRY(const BackendUse* use, loading.use_backend(provider.id));
      return kernel.run_with(*use);
    };
    const auto make = [&](const KernelProvider& provider) {
      // The slot exists before the plugin makes a kernel: nothing may fail in between.
      kernels_.push_back(std::make_unique<PluginKernel>(*provider.backend, *provider.table));
      auto made = fill(*kernels_.back(), provider);
      if (!made.ok()) kernels_.pop_back();
      return made;
    };
    return search_->providers.find(
        op, make, [&](std::string_view id, std::string_view answer) { search_->note(id, answer); });
  }

  /// One line for each answer, after a line feed.
  [[nodiscard]] std::string kernels_missing(Loading&) override {
    std::string out;
    for (const std::string& answer : search_->answers) out += concat("\n  ", answer);
    if (out.empty() && search_->providers.could_ask()) {
      out = "\n  no plugin that is known offers kernels";
    }
    return out;
  }

  /// Releases the plugins that were asked in vain.
  [[nodiscard]] Status after_load(Loading&, Status outcome) override {
    search_.reset();
    return outcome;
  }

  /// The last kernel first.
  void before_destroy(MethodState&) noexcept override {
    while (!kernels_.empty()) kernels_.pop_back();
  }

 private:
  /// Exists during a load alone.
  struct Search {
    explicit Search(const Loading& loading) noexcept
        : providers(loading.method.options.backends, loading.method.options.registry) {}

    void note(std::string_view id, std::string_view text) {
      std::string answer = concat(id, ": ", text);
      if (known_answers.insert(answer).second) answers.push_back(std::move(answer));
    }

    KernelProviders providers;
    std::optional<PluginKernelLookup> lookup{};  ///< Nothing before a delegate asks.
    std::vector<std::string> answers{};          ///< Of those asked in vain, in their order.
    std::set<std::string> known_answers{};  ///< `answers`, sorted: each operator may have its own.
  };

  std::optional<Search> search_;
  std::vector<std::unique_ptr<PluginKernel>> kernels_;
};

/// A program without operators has no part: what its delegates ask for is of the load alone.
KernelLookup& lookup_during(Loading& loading) {
  auto* part = find_part<PluginKernelsPart>(loading.method);
  if (!part) part = find_part<PluginKernelsPart>(loading.during);
  if (!part) {
    auto made = std::make_unique<PluginKernelsPart>();
    made->search(loading);
    part = made.get();
    loading.during.push_back(std::move(made));
  }
  return part->lookup(loading);
}

}  // namespace detail

Result<std::unique_ptr<detail::MethodPart>> PluginKernels::attach(
    detail::LoadRequest& request) const {
  // Most methods have no operators outside of their delegates.
  if (num_operators(*request.plan) == 0) return nullptr;
  return std::unique_ptr<detail::MethodPart>(std::make_unique<detail::PluginKernelsPart>());
}

}}}  // namespace tenon::TENON_RELEASE::host
