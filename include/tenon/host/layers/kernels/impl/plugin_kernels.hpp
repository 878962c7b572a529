// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/kernels.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/kernels/impl/kernel_providers.hpp"
#include "tenon/host/layers/kernels/kernel_backends.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/method/kernels.hpp"

/// Kernels of plugins, for operators that neither the application nor the host has code for.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A kernel that a plugin made for one instruction. Destroyed with this object, whose address is
/// fixed. What a call reads begins it and is in one line of most processors' caches.
class alignas(64) PluginKernel {
 public:
  /// Empty; to be filled by `create`. `use` must outlive it.
  PluginKernel(const BackendUse& use, const tenon_kernels_v1& table) noexcept
      : run_(table.run_kernel), context_(&use.context), destroy_(table.destroy_kernel), use_(use) {
    kernel_.owner = &use;
  }
  PluginKernel(const PluginKernel&) = delete;
  PluginKernel& operator=(const PluginKernel&) = delete;
  ~PluginKernel() {
    if (handle_) destroy_(use_.backend->raw(), handle_);
  }

  /// The answer of `create_kernel`, `args` being kept by the plugin. Internal without a kernel.
  [[nodiscard]] Status create(const tenon_kernels_v1& table, const std::string& op,
                              std::span<tenon_value* const> args) {
    TENON_TRY(handle_, create_kernel(*use_.backend, table, op, args));
    return ok();
  }

  [[nodiscard]] const BackendUse& use() const noexcept { return use_; }

  /// As instructions call it.
  [[nodiscard]] const Kernel* kernel() const noexcept { return &kernel_; }

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
  const tenon_execution_context* context_;
  decltype(tenon_kernels_v1::destroy_kernel) destroy_;
  const BackendUse& use_;
};

/// Asks plugins for the kernels that a method lacks, and holds those that they gave. Nothing is
/// asked or loaded as long as nothing is missing.
class PluginKernels {
 public:
  /// The kernel for one call of `op`, or null when no plugin has one: `answers` then has the
  /// reasons. The address of `args` must not change.
  [[nodiscard]] Result<const Kernel*> find(Loading& loader, const std::string& op,
                                           std::span<tenon_value* const> args) {
    if (!providers_.was_asked()) num_other_uses_ = loader.uses.size();
    const auto open = [&](const std::string& id) -> Result<BackendRef> {
      TENON_TRY(const BackendUse* use, loader.use_backend(id));
      return use->backend;
    };
    const auto make = [&](const KernelProvider& provider) -> Result<const Kernel*> {
      TENON_TRY(const BackendUse* use, loader.use_backend(provider.id));
      // The slot exists before the plugin makes a kernel: nothing may fail in between.
      kernels_.push_back(std::make_unique<PluginKernel>(*use, *provider.table));
      Status made = kernels_.back()->create(*provider.table, op, args);
      if (made.ok()) return kernels_.back()->kernel();
      kernels_.pop_back();
      return made;
    };
    return providers_.find(loader.backends, loader.registry, op, open, make,
                           [&](std::string_view id, std::string_view answer) { note(id, answer); });
  }

  /// The answers of plugins without such a kernel, each message once: one line for each, after a
  /// line feed. Empty when the host was given no plugins at all.
  [[nodiscard]] std::string answers(const Loading& loader) const {
    std::string out;
    for (const std::string& answer : answers_) out += concat("\n  ", answer);
    const bool could_ask = loader.registry || !loader.backends.empty();
    if (out.empty() && could_ask) out = "\n  no plugin that is known offers kernels";
    return out;
  }

  /// Releases the plugins that were asked in vain.
  void drop_unused(BackendUses& uses) {
    if (!providers_.was_asked()) return;
    uses.drop_unneeded(num_other_uses_, [&](const BackendUse& use) {
      bool is_needed = false;
      for (const auto& kernel : kernels_) is_needed |= &kernel->use() == &use;
      return is_needed;
    });
    providers_.clear();
  }

  /// Destroys the kernels, the last one first.
  void clear() noexcept {
    while (!kernels_.empty()) kernels_.pop_back();
  }

 private:
  void note(std::string_view id, std::string_view text) {
    std::string answer = concat(id, ": ", text);
    if (known_answers_.insert(answer).second) answers_.push_back(std::move(answer));
  }

  std::size_t num_other_uses_ = 0;  ///< Backends that the method uses for other reasons.
  KernelProviders providers_;
  std::vector<std::string> answers_;     // In the order in which they came.
  std::set<std::string> known_answers_;  // The same: each operator may have one of its own.
  std::vector<std::unique_ptr<PluginKernel>> kernels_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
