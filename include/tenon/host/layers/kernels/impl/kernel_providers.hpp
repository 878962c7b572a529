// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/kernels.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/kernels/kernel_backends.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A plugin that offers kernels.
struct KernelProvider {
  std::string id;
  bool is_opened = false;
  BackendRef backend{};                     ///< Keeps the plugin loaded.
  std::optional<tenon_kernels_v1> table{};  ///< Nothing until it is opened, and if it is unusable.
  std::string unusable{};                   ///< Once it is opened: why there is no table.
};

/// The search for kernels among plugins, for instructions (`PluginKernels`) and for delegates
/// (`PluginKernelLookup`): in the order of `find_kernel_backends`. One that cannot be used, and one
/// that answers OperatorMissing, leaves the call to the next; any other failure is the outcome.
/// Nothing is listed or loaded before the first call.
class KernelProviders {
 public:
  [[nodiscard]] bool was_asked() const noexcept { return is_listed_; }

  /// The kernel that the first plugin makes for `op`, null when none has one. `open(id)` returns a
  /// `Result<BackendRef>`, and `make(provider)`, for a provider with a table, a `Result` of a
  /// pointer of any kind. `note(id, answer)` gets the answer of each that has no such kernel.
  template <class Open, class Make, class Note>
  [[nodiscard]] auto find(std::span<const BackendRef> named, const BackendRegistry* registry,
                          const std::string& op, Open&& open, Make&& make, Note&& note)
      -> decltype(make(std::declval<const KernelProvider&>())) {
    if (!is_listed_) list(named, registry);
    for (KernelProvider& provider : providers_) {
      if (!provider.is_opened) prepare(provider, open);
      if (!provider.table) {
        note(provider.id, provider.unusable);
        continue;
      }
      auto made = make(std::as_const(provider));
      if (made.ok()) return made;
      if (made.error() != Error::OperatorMissing) {
        return std::move(made).status().with_context(concat("kernel ", op, " (", provider.id, ")"));
      }
      note(provider.id, made.text());
    }
    return nullptr;
  }

  /// Releases the plugins, of which none is asked again.
  void clear() noexcept { providers_.clear(); }

 private:
  void list(std::span<const BackendRef> named, const BackendRegistry* registry) {
    std::vector<KernelProvider> found;
    for (std::string& id : find_kernel_backends(named, registry)) found.push_back({std::move(id)});
    providers_ = std::move(found);
    is_listed_ = true;
  }

  template <class Open>
  static void prepare(KernelProvider& provider, Open& open) {
    const Status opened = [&]() -> Status {
      TENON_TRY(BackendRef backend, open(provider.id));
      TENON_TRY(provider.table, usable_kernels(*backend));
      provider.backend = std::move(backend);
      return ok();
    }();
    if (!opened.ok()) provider.unusable = opened.text();
    provider.is_opened = true;
  }

  bool is_listed_ = false;
  std::vector<KernelProvider> providers_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
