// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/load_lock.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The plugin of a registry, loaded once for all its backends, and again when it was released.
class PluginSlot {
 public:
  /// The backend `id` of the plugin, which `load()` returns unless it is loaded. `origin` names the
  /// plugin in errors.
  ///
  /// threads: any; one loads and the others wait. errors: as `load` and `Plugin::backend`;
  /// InvalidState when what loads the plugin calls this.
  template <class Load>
  [[nodiscard]] Result<std::shared_ptr<const LoadedBackend>> backend(std::string_view origin,
                                                                     std::string_view id,
                                                                     const Load& load) {
    std::shared_ptr<Plugin> plugin;
    {
      const ScopedLoadLock load_lock(load_lock_);
      if (!load_lock) {
        return error(Error::InvalidState, origin,
                     ": a backend of this plugin is looked up by what loads the plugin",
                     load_lock.refusal());
      }
      plugin = loaded_.lock();
      if (!plugin) {
        TENON_TRY(plugin, load());
        loaded_ = plugin;
      }
    }
    return plugin->backend(id);
  }

 private:
  LoadLock load_lock_;  // Guards `loaded_`, and is held while loading.
  std::weak_ptr<Plugin> loaded_;
};

/// A plugin's file that the application names.
struct PluginFile {
  std::filesystem::path path;  ///< Absolute.
  PluginRecord record;
};

/// Reads the plugin at `path`, for which the caller answers (`Trust::caller`). Loads nothing.
///
/// threads: any. errors: as `open_file` and `peek`; NotSupported for an ABI that does not fit.
[[nodiscard]] Result<PluginFile> read_plugin_file(const std::filesystem::path& path);

}}}  // namespace tenon::TENON_RELEASE::host::detail
