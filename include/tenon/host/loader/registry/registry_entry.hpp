// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/abi/plugin.h"
#include "tenon/core/status.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// An id of a registry, and the slot of its loaded backend. What opens that backend is in the
/// entries that derive from this one.
struct RegistryEntry {
  /// `name` must pass `check_id`.
  explicit RegistryEntry(std::string_view name) : id_size(static_cast<std::uint8_t>(name.size())) {
    name.copy(id_text, sizeof id_text);
  }
  [[nodiscard]] std::string_view id() const noexcept { return {id_text, id_size}; }

  // Stored in place and not behind a pointer, so that comparing it touches one cache line.
  char id_text[TENON_ID_SIZE] = {};
  std::uint8_t id_size;
  BackendSlot slot;
};

/// Whether `id` may be used in a table: the rule for ids in a plugin's record (TN-BIN-5).
///
/// threads: any. errors: InvalidArgument.
[[nodiscard]] Status check_id(const std::string& id);

}}}  // namespace tenon::TENON_RELEASE::host::detail
