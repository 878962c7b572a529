// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"
#include "tenon/host/platform/opened_file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Decides which plugins run in a process of their own (`HostInfo::isolation`,
/// `MethodOptions::isolation`). `WorkerIsolation` of <tenon/host/isolation.hpp> does it by names.
class PluginIsolation {
 public:
  PluginIsolation() = default;
  PluginIsolation(const PluginIsolation&) = delete;
  PluginIsolation& operator=(const PluginIsolation&) = delete;
  virtual ~PluginIsolation() = default;

  /// Whether a plugin runs in a process of its own. `file_name` is that of its file, empty for what
  /// is part of the application: a plugin that is linked in, an object. Such a plugin cannot run
  /// elsewhere, and is not loaded (NotSupported).
  ///
  /// threads: any, also at once. errors: the load fails with them.
  [[nodiscard]] virtual Result<bool> isolates(const PluginRecord& record,
                                              std::string_view file_name) const = 0;

  /// Returns the plugin that is loaded in place of the last of `files`, with its path: one that
  /// runs exactly the bytes of `files` in another process. The files before it are the libraries
  /// next to the plugin, in the order in which they are loaded. Called for what `isolates`, after
  /// the host's LibraryPolicy admitted each file, which `is_admitted` of the plugin says, and after
  /// the host compared the plugin's SHA-256 with the manifest.
  ///
  /// threads: any, also at once. errors: the load fails with them.
  [[nodiscard]] virtual Result<OpenedFile> isolate(std::span<const OpenedFile> files,
                                                   const PluginRecord& record) const = 0;
};

}}}  // namespace tenon::TENON_RELEASE::host
