// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/abi/plugin.h"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/host_info.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"
#include "tenon/host/platform/opened_file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {
class LoadedPlugin;
}

/// Whether a library leaves this process with the last `Plugin` of its file. With the C library
/// musl it does not, whose loader keeps each library until the process ends, nor with the variable
/// TENON_NO_UNLOAD.
///
/// threads: any. errors: never.
[[nodiscard]] bool unloads_libraries();

/// A plugin in this process: loaded from a file, or linked into the application.
///
/// Held by shared pointers. Each backend of it keeps it alive, and so does each method that uses
/// one; when the last of them is destroyed, its backends are closed and the library is unloaded
/// (`unloads_libraries`).
/// Any thread.
class Plugin {
 public:
  /// Loads the plugin in `path`, for which the caller answers (`Trust::caller`). `info` says what
  /// the plugin is offered: `all_layers()` of <tenon/host.hpp>, or `{}` for the loader alone.
  [[nodiscard]] static Result<std::shared_ptr<Plugin>> load(const std::filesystem::path& path,
                                                            HostInfo info);

  /// Loads the plugin in an open file. The record is read from the file first and the versions are
  /// negotiated, so that a plugin that does not fit is never loaded; the record of the loaded
  /// object must then equal the record in the file. No code of the plugin runs before `backend`.
  ///
  /// `expected`, when it is not null, is the record with which the plugin was chosen; InvalidState
  /// when the file has another one by now. `info.gates` admit the file before anything else, unless
  /// they admitted it already. They may replace it after these checks, and then the record comes
  /// from the plugin that they give in place of this one.
  [[nodiscard]] static Result<std::shared_ptr<Plugin>> load(OpenedFile file,
                                                            const PluginRecord* expected,
                                                            HostInfo info);

  /// Takes a plugin that is linked into the application (TENON_DECLARE_STATIC_PLUGIN).
  [[nodiscard]] static Result<std::shared_ptr<Plugin>> from_static(const tenon_plugin_head* head,
                                                                   HostInfo info);

  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  virtual ~Plugin() = default;

  /// Absolute path of the file; empty for a plugin that is linked in.
  [[nodiscard]] const std::string& path() const noexcept;
  [[nodiscard]] const PluginRecord& record() const noexcept;

  /// The backend with `id`, opened at its first use, once. NotFound names the ids there are. The
  /// caller has compared `cpu_features` of its record with the CPU, as `BackendRegistry` does.
  [[nodiscard]] Result<std::shared_ptr<const LoadedBackend>> backend(std::string_view id);

 private:
  friend class detail::LoadedPlugin;  // The only class that derives from this one.
  Plugin() noexcept = default;
};

}}}  // namespace tenon::TENON_RELEASE::host
