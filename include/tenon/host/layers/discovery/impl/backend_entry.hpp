// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/discovery/backend_entry.hpp"

#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/loader/registry/cpu_features.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

int Provider::compare_precedence(const Provider& other) const noexcept {
  if (by_application() != other.by_application()) return by_application() ? 1 : -1;
  const BackendRecord& mine = record();
  const BackendRecord& theirs = other.record();
  if (mine.priority != theirs.priority) return mine.priority > theirs.priority ? 1 : -1;
  const std::size_t needs = mine.cpu_features.size();
  const std::size_t others_needs = theirs.cpu_features.size();
  return needs == others_needs ? 0 : needs > others_needs ? 1 : -1;
}

const Provider* BackendEntry::chosen() const noexcept {
  const Provider* best = nullptr;
  bool tie = false;
  for (const Provider& provider : providers) {
    if (!provider.usable()) continue;
    const int precedence = best ? provider.compare_precedence(*best) : 1;
    if (precedence > 0) {
      best = &provider;
      tie = false;
    } else {
      tie |= provider.ties_with(*best);
    }
  }
  return tie ? nullptr : best;
}

const Provider* BackendEntry::rival_of(const Provider& other) const noexcept {
  for (const Provider& provider : providers) {
    if (&provider != &other && provider.usable() && provider.ties_with(other)) return &provider;
  }
  return nullptr;
}

const Provider* BackendEntry::provider_in_use() const noexcept {
  if (slot.users() == 0) return nullptr;
  for (const Provider& provider : providers) {
    if (provider.source.get() == in_use) return &provider;
  }
  return nullptr;
}

void check_cpu(Provider& provider, const CpuFeatures* cpu) {
  const std::vector<std::string>& wanted = provider.record().cpu_features;
  if (wanted.empty() || !provider.usable()) return;
  const CpuFeatures& here = cpu ? *cpu : CpuFeatures::of_this_machine();
  const std::string missing = join(here.missing(wanted), ", ");
  if (missing.empty()) return;
  provider.rejection = BackendState::unsupported;
  provider.reason = concat(provider.source->origin(), ": backend '", provider.record().id,
                           "' needs CPU features that this CPU lacks: ", missing);
}

BackendInfo describe_provider(const BackendEntry& entry, const Provider& provider) {
  BackendInfo info{provider.source, provider.index, provider.rejection, provider.reason, 0};
  const Provider* const in_use = entry.provider_in_use();
  const bool in_slot = in_use == &provider;
  if (in_slot) info.num_users = entry.slot.users();
  if (!provider.usable()) return info;
  const Provider* chosen = entry.chosen();
  const std::string origin = provider.source->origin();
  if (in_slot || (!in_use && chosen == &provider && provider.source->is_open)) {
    info.state = BackendState::loaded;
  } else if (chosen == &provider && in_use) {
    info.state = BackendState::shadowed;
    info.reason = concat(origin, ": backend '", entry.id(), "' is in use from ",
                         in_use->source->origin(), ", until the last holder releases it");
  } else if (chosen == &provider) {
    info.state = BackendState::known;
  } else if (const Provider* rival = chosen ? nullptr : entry.rival_of(provider)) {
    info.state = BackendState::duplicate;
    info.reason =
        concat(origin, ": its backend '", entry.id(), "' is also in ", rival->source->origin(),
               ", with the same priority; disable or remove one of them, or set "
               "priorities in a manifest");
  } else {
    info.state = BackendState::shadowed;
    info.reason =
        chosen ? concat(origin, ": backend '", entry.id(), "' is taken from ",
                        chosen->source->origin())
               : concat(origin, ": others take precedence over it for backend '", entry.id(), "'");
  }
  return info;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
