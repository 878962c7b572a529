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
#include "tenon/host/loader/registry/registry.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A plugin that offers kernels.
struct KernelProvider {
  std::string id;
  bool is_opened = false;
  BackendRef backend{};                     ///< Keeps the plugin loaded.
  std::optional<tenon_kernels_v1> table{};  ///< Nothing until it is opened, and if it is unusable.
  std::string unusable{};                   ///< Once it is opened: why there is no table.
};

/// The search for kernels among plugins, for the instructions of a method and for its delegates: in
/// the order of `find_kernel_backends`. A plugin that cannot be used, or answers OperatorMissing,
/// leaves the call to the next; any other failure is the outcome. Nothing is listed or loaded
/// before the first call. Keeps the plugins loaded that it asked.
class KernelProviders {
 public:
  /// As for `find_kernel_backends`; both must outlive this object.
  KernelProviders(std::span<const BackendRef> named, const Registry* registry) noexcept
      : named_(named), registry_(registry) {}

  /// Whether the application gave any plugins.
  [[nodiscard]] bool could_ask() const noexcept { return registry_ || !named_.empty(); }

  /// The kernel that the first plugin makes for `op`, null when none has one. `make(provider)`, for
  /// a provider with a table, returns a `Result` of a pointer of any kind. `note(id, answer)` gets
  /// the answer of each that has no such kernel.
  template <class Make, class Note>
  [[nodiscard]] auto find(const std::string& op, Make&& make, Note&& note)
      -> decltype(make(std::declval<const KernelProvider&>())) {
    if (!is_listed_) list();
    for (KernelProvider& provider : providers_) {
      if (!provider.is_opened) prepare(provider);
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

 private:
  void list() {
    std::vector<KernelProvider> found;
    for (std::string& id : find_kernel_backends(named_, registry_)) {
      found.push_back({std::move(id)});
    }
    providers_ = std::move(found);
    is_listed_ = true;
  }

  void prepare(KernelProvider& provider) const {
    const Status opened = [&]() -> Status {
      TENON_TRY(BackendRef backend, find_backend(named_, registry_, provider.id));
      TENON_TRY(provider.table, usable_kernels(*backend));
      provider.backend = std::move(backend);
      return ok();
    }();
    if (!opened.ok()) provider.unusable = opened.text();
    provider.is_opened = true;
  }

  std::span<const BackendRef> named_;
  const Registry* registry_;
  bool is_listed_ = false;
  std::vector<KernelProvider> providers_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
