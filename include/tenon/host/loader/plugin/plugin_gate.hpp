// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/loader/plugin/host_info.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"
#include "tenon/host/platform/opened_file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A loaded plugin, with the libraries that were loaded for it. The destructor unloads them.
class LoadedLibraries {
 public:
  LoadedLibraries() = default;
  virtual ~LoadedLibraries() = default;

  /// Address of a symbol that the plugin exports, or null.
  ///
  /// threads: any. errors: never.
  [[nodiscard]] virtual const void* symbol(const char* name) const noexcept = 0;

  /// Identifies what was loaded: equal bytes have equal digests.
  ///
  /// threads: any. errors: AccessFailed when a file cannot be read; InvalidState when one was
  /// changed since it was loaded; NotSupported when it is not known which file was loaded.
  [[nodiscard]] virtual Result<Sha256> digest() const = 0;

 protected:
  LoadedLibraries(LoadedLibraries&&) = default;
  LoadedLibraries& operator=(LoadedLibraries&&) = default;
};

/// Is asked between opening the file of a plugin and loading it (`HostInfo::gates`). A gate
/// overrides what it has a part in.
///
/// threads: any, also at once. errors: the load fails with them.
class PluginGate {
 public:
  PluginGate() = default;
  PluginGate(const PluginGate&) = delete;
  PluginGate& operator=(const PluginGate&) = delete;
  virtual ~PluginGate() = default;

  /// Whether `admit` decides what is loaded. Plugins then see the extension `library_policy_id`,
  /// and `OpenedFile::is_admitted` is set.
  [[nodiscard]] virtual bool is_policy() const noexcept { return false; }

  /// Returns the file that is loaded in place of `file`: itself, or a copy of it with its path and
  /// trust. The plugin's record is read from what is returned, and no code of it ran before.
  ///
  /// `signature` is the text of the signature that the plugin's manifest holds; empty: none.
  [[nodiscard]] virtual Result<OpenedFile> admit(OpenedFile file,
                                                 std::string_view signature) const {
    static_cast<void>(signature);
    return file;
  }

  /// Whether a plugin runs in a process of its own. `file_name` is the name of its file, empty for
  /// a part of the application: a plugin that is linked in, an object. Such a plugin cannot run
  /// elsewhere, and is not loaded (NotSupported).
  [[nodiscard]] virtual Result<bool> isolates(const PluginRecord& record,
                                              std::string_view file_name) const {
    static_cast<void>(record);
    static_cast<void>(file_name);
    return false;
  }

  /// Returns the plugin that is loaded in place of `file`, which `isolates` isolates: a plugin that
  /// runs it in another process. It is a part of the host, so no gate admits or replaces it.
  [[nodiscard]] virtual Result<OpenedFile> replace(OpenedFile file, const PluginRecord& record,
                                                   const PluginGates& gates) const {
    static_cast<void>(record);
    static_cast<void>(gates);
    return file;
  }

  /// Loads the plugin in `file`, which it takes over, and what the plugin needs, which `gates`
  /// admit. Null, with `file` as it was: another gate loads it.
  [[nodiscard]] virtual Result<std::unique_ptr<LoadedLibraries>> load(
      OpenedFile& file, const PluginGates& gates) const {
    static_cast<void>(file);
    static_cast<void>(gates);
    return std::unique_ptr<LoadedLibraries>();
  }
};

/// Whether one of `gates` is a policy.
///
/// threads: any. errors: never.
[[nodiscard]] bool has_policy(const PluginGates& gates) noexcept;

/// The file that all `gates` admit in place of `file`; `file` itself when it is admitted already.
///
/// threads: any. errors: as the gates.
[[nodiscard]] Result<OpenedFile> admit(OpenedFile file, std::string_view signature,
                                       const PluginGates& gates);

/// The first of `gates` that isolates a plugin; null: none does.
///
/// threads: any. errors: as the gates.
[[nodiscard]] Result<const PluginGate*> find_isolation(const PluginRecord& record,
                                                       std::string_view file_name,
                                                       const PluginGates& gates);

}}}  // namespace tenon::TENON_RELEASE::host
