// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/version.h"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Receives log lines of plugins: level (TENON_LOG_...), path of the plugin, text. The text is one
/// line that can be printed: what a terminal obeys is an escape in it (`\x1b`, `\n`). Called from
/// any thread, also from several at once.
using LogSink = std::function<void(std::int32_t level, std::string_view plugin, std::string_view)>;

/// A table that a host offers to plugins (`tenon_host::get_extension`). Both pointers must outlive
/// all plugins that the host loads.
struct HostExtension {
  const char* id = nullptr;
  const void* table = nullptr;
};

/// The table `id` of `extensions`; null without one.
///
/// threads: any. errors: never.
[[nodiscard]] inline const void* find_table(std::span<const HostExtension> extensions,
                                            std::string_view id) noexcept {
  for (const HostExtension& each : extensions) {
    if (id == each.id) return each.table;
  }
  return nullptr;
}

class PluginGate;

/// Judge the files that a host loads, and say how (tenon/host/loader/plugin/plugin_gate.hpp). All
/// are asked, in this order. A null one is left out.
using PluginGates = std::vector<std::shared_ptr<const PluginGate>>;

/// Describes an application to the plugins that it loads, and says which of them it loads, and
/// where.
struct HostInfo {
  std::string name = "tenon host " TENON_VERSION_STRING;
  LogSink log{};  ///< None: log lines are dropped.
  /// Policies of signatures (tenon/host/layers/trust/library_policy.hpp), isolation
  /// (tenon/host/layers/isolation/plugin_isolation.hpp), and loaders of libraries. Without a gate
  /// that loads, the system's loader opens the path of a plugin; `all_layers` adds the gate of
  /// trust.
  PluginGates gates{};
  /// The tables of layers; the loader has its own. Of two with one id the first counts.
  /// `all_layers` of <tenon/host.hpp> adds all that there are.
  std::vector<HostExtension> extensions{};
  /// Take part in every method that is loaded with the registry of this host. `all_layers` adds
  /// those that need no options.
  Layers layers{};
};

}}}  // namespace tenon::TENON_RELEASE::host
