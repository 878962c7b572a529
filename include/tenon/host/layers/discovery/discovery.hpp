// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/host/layers/discovery/plugin_source.hpp"

#if !defined(TENON_PLUGINDIR) && __has_include("tenon/host/plugindir.hpp")
#include "tenon/host/plugindir.hpp"
#endif

/// Searches for plugins. Files are read; no library is loaded and no code of one runs.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The directory where plugins of this Tenon are installed (`pkg-config --variable=plugindir
/// tenon`), as the build that installed the headers says, or TENON_PLUGINDIR if that is defined.
/// Nothing for headers that were only copied.
[[nodiscard]] inline std::filesystem::path installed_plugin_directory() {
#ifdef TENON_PLUGINDIR
  // In a package that may be moved, it is given relative to a header.
  return std::filesystem::path(TENON_PLUGINDIR).lexically_normal();
#else
  return {};
#endif
}

/// Where to search, in the order of the members.
struct DiscoveryOptions {
  /// Plugins that are linked into the application.
  std::vector<const tenon_plugin_head*> static_plugins{};

  /// The application's own plugins, manifests and directories of them, with absolute paths.
  std::vector<std::filesystem::path> paths{};

  /// Whether TENON_PLUGIN_FILES, TENON_PLUGIN_PATH, TENON_SELECT and TENON_DISABLE are used. They
  /// never are in a privileged process (`is_privileged`).
  bool use_environment = true;

  /// Directory of installed plugins; empty: none.
  std::filesystem::path installed = installed_plugin_directory();

  /// The value of a variable, or nothing; null: `environment_variable`.
  std::function<std::optional<std::string>(const char*)> variable{};
};

/// Searches all paths of `options` and reads the record of every plugin in them: no library is
/// loaded.
///
/// A file that cannot be used is a source with its reason and never a failure of the search. In
/// directories, files named *.json are manifests and files named *.so (also *.dylib on macOS, *.dll
/// instead on Windows) plugins; directories in them are not entered. Every file and directory is
/// opened with `Trust::checked`. A file that several search paths name is taken once, from the
/// first.
///
/// threads: any.
[[nodiscard]] SearchReport discover(const DiscoveryOptions& options = {});

/// The search in the form that `ProviderRegistry::add_search` takes.
[[nodiscard]] std::function<SearchReport()> discovery(DiscoveryOptions options = {});

}}}  // namespace tenon::TENON_RELEASE::host
