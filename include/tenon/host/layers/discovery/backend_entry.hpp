// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/host/layers/discovery/backend_info.hpp"
#include "tenon/host/layers/discovery/plugin_source.hpp"
#include "tenon/host/loader/registry/registry_entry.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {
class CpuFeatures;
}}}  // namespace tenon::TENON_RELEASE::host

/// The parts of a ProviderRegistry: which backends provide an id, and which of them is chosen.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// One backend of one source.
struct Provider {
  std::shared_ptr<const PluginSource> source;
  std::size_t index = 0;
  BackendState rejection = BackendState::known;  ///< Why it cannot be chosen; `known`: it can.
  std::string reason{};                          ///< The message that belongs to `rejection`.

  [[nodiscard]] const BackendRecord& record() const noexcept { return source->backends[index]; }
  [[nodiscard]] bool usable() const noexcept { return rejection == BackendState::known; }
  [[nodiscard]] bool by_application() const noexcept {
    return source->search_path_kind == SearchPathKind::application;
  }
  [[nodiscard]] bool is_plugin() const noexcept { return source->record.has_value(); }

  /// Whether both are plugins made for different CPUs, which the application may register together.
  [[nodiscard]] bool is_variant_of(const Provider& other) const noexcept {
    return is_plugin() && other.is_plugin() && record().cpu_features != other.record().cpu_features;
  }

  /// Negative when `other` takes precedence over this provider, 0 when both have the same.
  ///
  /// Providers of the application come first. Then the highest priority wins, then the provider
  /// that needs the most CPU features: it was made for fewer machines, and this is one of them.
  [[nodiscard]] int compare_precedence(const Provider& other) const noexcept;

  /// Whether look-up cannot choose between the two: the same precedence, found in one search path.
  [[nodiscard]] bool ties_with(const Provider& other) const noexcept {
    return compare_precedence(other) == 0 && source->search_order == other.source->search_order;
  }
};

/// An id, the slot of its loaded backend, and its providers. Remains when the last provider is
/// unregistered.
struct BackendEntry : RegistryEntry {
  using RegistryEntry::RegistryEntry;

  /// The provider that a look-up chooses: the first of the highest precedence. Null when there is
  /// none, or when another one ties with it.
  [[nodiscard]] const Provider* chosen() const noexcept;

  /// The provider whose backend is in use; null when none is.
  [[nodiscard]] const Provider* provider_in_use() const noexcept;

  /// A usable provider that ties with `other`, or null.
  [[nodiscard]] const Provider* rival_of(const Provider& other) const noexcept;

  const PluginSource* in_use = nullptr;  ///< Source of the slot's backend, or of its last one.
  std::vector<Provider> providers;       ///< In the order of the search. Guarded by the registry.
};

/// Makes `provider` unsupported when CPU features that it needs are missing: of `cpu`, or of this
/// machine where it is null.
void check_cpu(Provider& provider, const CpuFeatures* cpu);

/// State and reason of `provider` among all providers of its id.
BackendInfo describe_provider(const BackendEntry& entry, const Provider& provider);

}}}  // namespace tenon::TENON_RELEASE::host::detail
