// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/core/api.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/registry/backend_info.hpp"
#include "tenon/host/registry/backend_ref.hpp"
#include "tenon/host/registry/plugin_source.hpp"

namespace tenon::host {
class CpuFeatures;
}

/// The parts of a BackendRegistry: which backends provide an id, and which of them is chosen.
namespace tenon::host::detail {

/// One backend of one source.
struct Provider {
  std::shared_ptr<const PluginSource> source;
  std::size_t index = 0;
  BackendState unfit = BackendState::known;  ///< Why it cannot be chosen; `known`: it can.
  std::string reason{};                      ///< The message that belongs to `unfit`.

  [[nodiscard]] const BackendRecord& record() const noexcept { return source->backends[index]; }
  [[nodiscard]] bool usable() const noexcept { return unfit == BackendState::known; }
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
struct BackendEntry {
  explicit BackendEntry(std::string_view name) : id_size(static_cast<std::uint8_t>(name.size())) {
    name.copy(id_text, sizeof id_text);
  }
  [[nodiscard]] std::string_view id() const noexcept { return {id_text, id_size}; }

  /// The provider that a look-up chooses: the first of the highest precedence. Null when there is
  /// none, or when another one ties with it.
  [[nodiscard]] const Provider* chosen() const noexcept;

  /// The provider whose backend is in use; null when none is.
  [[nodiscard]] const Provider* provider_in_use() const noexcept;

  /// A usable provider that ties with `other`, or null.
  [[nodiscard]] const Provider* rival_of(const Provider& other) const noexcept;

  // Stored in place and not behind a pointer, so that comparing it touches one cache line.
  char id_text[TENON_ID_SIZE] = {};
  std::uint8_t id_size;
  BackendSlot slot;
  const PluginSource* in_use = nullptr;  ///< Source of the slot's backend, or of its last one.
  std::vector<Provider> providers;       ///< In the order of the search. Guarded by the registry.
};

/// Whether `id` may be used in a table: the rule for ids in a plugin's record (TN-BIN-5).
TENON_API Status check_id(const std::string& id);

/// Those of `wanted` that a CPU lacks, in their order.
using MissingFeatures = std::vector<std::string> (*)(const CpuFeatures* cpu,
                                                     const std::vector<std::string>& wanted);

/// Of `cpu`, or of this machine where it is null.
TENON_API std::vector<std::string> missing_in(const CpuFeatures* cpu,
                                              const std::vector<std::string>& wanted);
/// Of this machine.
TENON_API std::vector<std::string> missing_here(const CpuFeatures*,
                                                const std::vector<std::string>& wanted);

/// Makes `provider` unsupported when CPU features that it needs are missing.
TENON_API void check_cpu(Provider& provider, const CpuFeatures* cpu, MissingFeatures missing_of);

/// State and reason of `provider` among all providers of its id.
TENON_API BackendInfo describe_provider(const BackendEntry& entry, const Provider& provider);

}  // namespace tenon::host::detail

#if TENON_HOST_DEFINITIONS

#include "tenon/core/concat.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/registry/cpu_features.hpp"

namespace tenon::host::detail {

TENON_COLD TENON_API int Provider::compare_precedence(const Provider& other) const noexcept {
  if (by_application() != other.by_application()) return by_application() ? 1 : -1;
  const BackendRecord& mine = record();
  const BackendRecord& theirs = other.record();
  if (mine.priority != theirs.priority) return mine.priority > theirs.priority ? 1 : -1;
  const std::size_t needs = mine.cpu_features.size();
  const std::size_t others_needs = theirs.cpu_features.size();
  return needs == others_needs ? 0 : needs > others_needs ? 1 : -1;
}

TENON_COLD TENON_API const Provider* BackendEntry::chosen() const noexcept {
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

TENON_COLD TENON_API const Provider* BackendEntry::rival_of(const Provider& other) const noexcept {
  for (const Provider& provider : providers) {
    if (&provider != &other && provider.usable() && provider.ties_with(other)) return &provider;
  }
  return nullptr;
}

TENON_COLD TENON_API const Provider* BackendEntry::provider_in_use() const noexcept {
  if (slot.users() == 0) return nullptr;
  for (const Provider& provider : providers) {
    if (provider.source.get() == in_use) return &provider;
  }
  return nullptr;
}

TENON_COLD TENON_API Status check_id(const std::string& id) {
  if (id.empty()) return error(Error::InvalidArgument, "the id of a backend is empty");
  if (id.size() >= TENON_ID_SIZE || id.find('\0') != std::string::npos) {
    return error(Error::InvalidArgument, "the id ", host::quoted(id), " of a backend has ",
                 id.size(), " bytes, expected at most ", TENON_ID_SIZE - 1, " and no NUL");
  }
  return check_text(id, "the id of a backend");
}

TENON_COLD TENON_API std::vector<std::string> missing_in(const CpuFeatures* cpu,
                                                         const std::vector<std::string>& wanted) {
  return (cpu ? *cpu : CpuFeatures::of_this_machine()).missing(wanted);
}

TENON_COLD TENON_API std::vector<std::string> missing_here(const CpuFeatures*,
                                                           const std::vector<std::string>& wanted) {
  std::vector<std::string> out;
  for (const std::string& name : wanted) {
    bool found = false;
    for (const std::string& here : names_of_this_machine()) found = found || here == name;
    if (!found) out.push_back(name);
  }
  return out;
}

TENON_COLD TENON_API void check_cpu(Provider& provider, const CpuFeatures* cpu,
                                    MissingFeatures missing_of) {
  const std::vector<std::string>& wanted = provider.record().cpu_features;
  if (wanted.empty() || !provider.usable()) return;
  std::string missing;
  for (const std::string& name : missing_of(cpu, wanted)) {
    missing += concat(missing.empty() ? "" : ", ", name);
  }
  if (missing.empty()) return;
  provider.unfit = BackendState::unsupported;
  provider.reason = concat(provider.source->origin(), ": backend '", provider.record().id,
                           "' needs CPU features that this CPU lacks: ", missing);
}

TENON_COLD TENON_API BackendInfo describe_provider(const BackendEntry& entry,
                                                   const Provider& provider) {
  BackendInfo info{provider.source, provider.index, provider.unfit, provider.reason, 0};
  const Provider* const in_use = entry.provider_in_use();
  const bool in_slot = in_use == &provider;
  if (in_slot) info.num_users = entry.slot.users();
  if (!provider.usable()) return info;
  const Provider* chosen = entry.chosen();
  const std::string origin = provider.source->origin();
  if (in_slot || (!in_use && chosen == &provider && provider.source->object)) {
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

}  // namespace tenon::host::detail

#endif  // TENON_HOST_DEFINITIONS
