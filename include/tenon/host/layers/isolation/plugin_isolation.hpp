// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/plugin_gate.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Decides which plugins run in a process of their own (one of `HostInfo::gates`, or
/// given to `Isolation`). `WorkerIsolation` of <tenon/host/isolation.hpp> does it by names.
class PluginIsolation : public PluginGate {
 public:
  [[nodiscard]] Result<bool> isolates(const PluginRecord& record,
                                      std::string_view file_name) const override = 0;

  /// Finds the libraries next to the plugin, which `gates` admit, and calls `isolate`.
  [[nodiscard]] Result<OpenedFile> replace(OpenedFile file, const PluginRecord& record,
                                           const PluginGates& gates) const final;

  /// Returns the plugin that is loaded in place of the last of `files`, with its path: a plugin
  /// that runs exactly the bytes of `files` in another process. The files before it are the
  /// libraries next to the plugin, in the order in which they are loaded. Called for what
  /// `isolates`, after the host's policy admitted each file, which `is_admitted` of the plugin
  /// says, and after the host compared the plugin's SHA-256 with the manifest.
  ///
  /// threads: any, also at once. errors: the load fails with them.
  [[nodiscard]] virtual Result<OpenedFile> isolate(std::span<const OpenedFile> files,
                                                   const PluginRecord& record) const = 0;
};

}}}  // namespace tenon::TENON_RELEASE::host
