// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/status.hpp"
#include "tenon/host/layers/discovery/backend_entry.hpp"
#include "tenon/host/layers/discovery/backend_info.hpp"
#include "tenon/host/loader/registry/id_table.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// All ids of a registry with their providers. `find` takes no lock; for everything else the
/// registry's mutex is held. Addresses of entries stay valid.
class ProviderTable {
 public:
  /// Puts all its entries into `ids`, which must have no others and outlive it.
  explicit ProviderTable(IdTable<RegistryEntry>& ids) noexcept : ids_(ids) {}

  /// Null when the id was never provided.
  [[nodiscard]] BackendEntry* find(std::string_view id) const noexcept {
    return static_cast<BackendEntry*>(ids_.find(id));
  }

  /// Adds all of them, or none when memory runs out.
  void add(std::vector<Provider> providers);

  /// Whether the application may register `providers`, given what it registered before and which
  /// backends are in use.
  ///
  /// errors: RegistrationAlreadyRegistered, InvalidState; with both origins.
  [[nodiscard]] Status check_registration(std::span<const Provider> providers) const;

  /// The ids that can be looked up, sorted, without those that have one of `exclude_tags`.
  [[nodiscard]] std::vector<std::string> list(std::span<const std::string_view> exclude_tags) const;

  /// The ids that have a provider, usable or not.
  [[nodiscard]] std::vector<std::string> ids() const;

  /// Every provider with its state, sorted by id.
  [[nodiscard]] std::vector<BackendInfo> describe() const;

 private:
  BackendEntry& entry_of(const std::string& id);

  std::vector<std::unique_ptr<BackendEntry>> entries_;
  IdTable<RegistryEntry>& ids_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
