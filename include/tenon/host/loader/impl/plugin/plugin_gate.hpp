// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/plugin/plugin_gate.hpp"

#include <utility>

namespace tenon { inline namespace TENON_RELEASE { namespace host {

bool has_policy(const PluginGates& gates) noexcept {
  for (const auto& gate : gates) {
    if (gate && gate->is_policy()) return true;
  }
  return false;
}

Result<OpenedFile> admit(OpenedFile file, std::string_view signature, const PluginGates& gates) {
  if (file.is_admitted) return file;
  for (const auto& gate : gates) {
    if (!gate) continue;
    TENON_TRY(OpenedFile admitted, gate->admit(std::move(file), signature));
    file = std::move(admitted);
  }
  file.is_admitted = has_policy(gates);
  return file;
}

Result<const PluginGate*> find_isolation(const PluginRecord& record, std::string_view file_name,
                                         const PluginGates& gates) {
  for (const auto& gate : gates) {
    if (!gate) continue;
    TENON_TRY(const bool apart, gate->isolates(record, file_name));
    if (apart) return gate.get();
  }
  return static_cast<const PluginGate*>(nullptr);
}

}}}  // namespace tenon::TENON_RELEASE::host
