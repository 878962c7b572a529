// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/api.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/registry/backend_entry.hpp"
#include "tenon/host/registry/backend_info.hpp"
#include "tenon/host/registry/id_table.hpp"

namespace tenon::host::detail {

/// All ids of a registry with their providers. `find` takes no lock; for everything else the
/// registry's mutex is held. Addresses of entries stay valid.
class ProviderTable {
 public:
  /// Null when the id was never provided.
  [[nodiscard]] BackendEntry* find(std::string_view id) const noexcept { return ids_.find(id); }

  /// Adds all of them, or none when memory runs out.
  TENON_API void add(std::vector<Provider> providers);

  /// Whether the application may register `providers`, given what it registered before and which
  /// backends are in use.
  ///
  /// errors: RegistrationAlreadyRegistered, InvalidState; with both origins.
  [[nodiscard]] TENON_API Status check_registration(std::span<const Provider> providers) const;

  /// The ids that can be looked up, sorted, without those that have one of `exclude_tags`.
  [[nodiscard]] TENON_API std::vector<std::string> list(
      std::span<const std::string_view> exclude_tags) const;

  /// The ids that have a provider, usable or not.
  [[nodiscard]] TENON_API std::vector<std::string> ids() const;

  /// Every provider with its state, sorted by id.
  [[nodiscard]] TENON_API std::vector<BackendInfo> describe() const;

 private:
  TENON_API BackendEntry& entry_of(const std::string& id);

  std::vector<std::unique_ptr<BackendEntry>> entries_;
  IdTable<BackendEntry> ids_;
};

}  // namespace tenon::host::detail

#if TENON_HOST_DEFINITIONS

#include <utility>

#include "tenon/host/files/sort_names.hpp"

namespace tenon::host::detail {

/// The entry of `id`, a new one if there is none.
TENON_COLD TENON_API BackendEntry& ProviderTable::entry_of(const std::string& id) {
  if (BackendEntry* entry = ids_.find(id)) return *entry;
  BackendEntry& entry = *entries_.emplace_back(std::make_unique<BackendEntry>(id));
  try {
    ids_.insert(&entry);
  } catch (...) {
    entries_.pop_back();
    throw;
  }
  return entry;
}

TENON_COLD TENON_API void ProviderTable::add(std::vector<Provider> providers) {
  std::vector<BackendEntry*> extended;
  extended.reserve(providers.size());
  try {
    for (Provider& provider : providers) {
      BackendEntry& entry = entry_of(provider.record().id);
      entry.providers.push_back(std::move(provider));
      extended.push_back(&entry);
    }
  } catch (...) {
    for (BackendEntry* entry : extended) entry->providers.pop_back();
    throw;
  }
}

TENON_COLD TENON_API Status
ProviderTable::check_registration(std::span<const Provider> providers) const {
  for (const Provider& provider : providers) {
    const BackendEntry* entry = ids_.find(provider.record().id);
    if (!entry || !provider.usable()) continue;
    for (const Provider& other : entry->providers) {
      if (!other.by_application() || !other.usable() || provider.is_variant_of(other)) continue;
      return error(Error::RegistrationAlreadyRegistered, "backend '", entry->id(), "' of ",
                   provider.source->origin(), " is registered already, by ",
                   other.source->origin());
    }
    const Provider* const in_use = entry->provider_in_use();
    if (!in_use || provider.compare_precedence(*in_use) <= 0) continue;
    return error(Error::InvalidState, "backend '", entry->id(), "' of ", provider.source->origin(),
                 " cannot be registered while that of ", in_use->source->origin(), " is in use, ",
                 entry->slot.users(), " times; release it first");
  }
  return ok();
}

TENON_COLD TENON_API std::vector<std::string> ProviderTable::list(
    std::span<const std::string_view> exclude_tags) const {
  std::vector<std::string_view> ids;
  for (const auto& entry : entries_) {
    const Provider* chosen = entry->chosen();
    if (!chosen) continue;
    bool excluded = false;
    for (const std::string& tag : chosen->record().tags) {
      for (const std::string_view exclude : exclude_tags) excluded |= tag == exclude;
    }
    if (!excluded) ids.push_back(entry->id());
  }
  sort_names(ids);
  return {ids.begin(), ids.end()};
}

TENON_COLD TENON_API std::vector<std::string> ProviderTable::ids() const {
  std::vector<std::string> out;
  for (const auto& entry : entries_) {
    if (!entry->providers.empty()) out.emplace_back(entry->id());
  }
  return out;
}

TENON_COLD TENON_API std::vector<BackendInfo> ProviderTable::describe() const {
  std::vector<std::string_view> sorted;
  for (const auto& entry : entries_) sorted.push_back(entry->id());
  sort_names(sorted);
  std::vector<BackendInfo> out;
  for (const std::string_view id : sorted) {
    const BackendEntry& entry = *ids_.find(id);
    for (const Provider& provider : entry.providers) {
      out.push_back(describe_provider(entry, provider));
    }
  }
  return out;
}

}  // namespace tenon::host::detail

#endif  // TENON_HOST_DEFINITIONS
