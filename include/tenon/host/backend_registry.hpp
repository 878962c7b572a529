// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "tenon/host/all_layers.hpp"
#include "tenon/host/layers/discovery/provider_registry.hpp"
#include "tenon/host/loader/plugin/host_info.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The registry of an application with <tenon/host.hpp>: a `ProviderRegistry` whose plugins are
/// offered the tables of all layers, and are loaded by the gate of trust (`all_layers`).
class BackendRegistry : public ProviderRegistry {
 public:
  /// `info` describes the host to plugins; its log receives why files were refused.
  explicit BackendRegistry(HostInfo info = {}) : BackendRegistry(std::move(info), nullptr) {}
  /// Plugins are chosen for `cpu`, which must outlive the registry; null: this machine.
  BackendRegistry(HostInfo info, const CpuFeatures* cpu)
      : ProviderRegistry(all_layers(std::move(info)), cpu) {}
};

}}}  // namespace tenon::TENON_RELEASE::host
