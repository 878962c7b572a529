// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/discovery/provider_table.hpp"

#include <algorithm>
#include <utility>

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The entry of `id`, a new one if there is none.
BackendEntry& ProviderTable::entry_of(const std::string& id) {
  if (BackendEntry* entry = find(id)) return *entry;
  BackendEntry& entry = *entries_.emplace_back(std::make_unique<BackendEntry>(id));
  try {
    ids_.insert(&entry);
  } catch (...) {
    entries_.pop_back();
    throw;
  }
  return entry;
}

void ProviderTable::add(std::vector<Provider> providers) {
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

Status ProviderTable::check_registration(std::span<const Provider> providers) const {
  for (const Provider& provider : providers) {
    const BackendEntry* entry = find(provider.record().id);
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
                 " cannot be registered while the backend of ", in_use->source->origin(),
                 " is in use, ", entry->slot.users(), " times; release it first");
  }
  return ok();
}

std::vector<std::string> ProviderTable::list(std::span<const std::string_view> exclude_tags) const {
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
  std::sort(ids.begin(), ids.end());
  return {ids.begin(), ids.end()};
}

std::vector<std::string> ProviderTable::ids() const {
  std::vector<std::string> out;
  for (const auto& entry : entries_) {
    if (!entry->providers.empty()) out.emplace_back(entry->id());
  }
  return out;
}

std::vector<BackendInfo> ProviderTable::describe() const {
  std::vector<std::string_view> sorted;
  for (const auto& entry : entries_) sorted.push_back(entry->id());
  std::sort(sorted.begin(), sorted.end());
  std::vector<BackendInfo> out;
  for (const std::string_view id : sorted) {
    const BackendEntry& entry = *find(id);
    for (const Provider& provider : entry.providers) {
      out.push_back(describe_provider(entry, provider));
    }
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
