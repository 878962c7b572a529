// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/host_info.hpp"
#include "tenon/host/loader/plugin/load_lock.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"
#include "tenon/host/loader/registry/id_table.hpp"
#include "tenon/host/loader/registry/registry_entry.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Finds backends by the id that programs name: those that the application registered, one for an
/// id. A backend is loaded when it is looked up for the first time.
///
/// The registry itself keeps no plugin loaded: a plugin is unloaded when the last holder of one of
/// its backends (an application, a method) releases it, and loaded again at the next look-up. There
/// is no limit on the number of backends. `ProviderRegistry` of the layer discovery, from which
/// `BackendRegistry` of <tenon/host.hpp> derives, also searches, lists, and chooses among several
/// backends of one id.
///
/// Any thread. A look-up of a loaded backend takes no lock. No lock is held while third-party code
/// runs (a plugin, the log), which may use the registry. Only `std::bad_alloc` leaves these
/// functions; the registry is then as it was.
class Registry {
 public:
  /// `info` describes the host to plugins.
  explicit Registry(HostInfo info = {});
  virtual ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// Of each method that is loaded with it.
  [[nodiscard]] const Layers& layers() const noexcept { return info_.layers; }

  /// For each plugin that it loads, and for kernels of methods that are loaded with it.
  [[nodiscard]] std::span<const HostExtension> extensions() const noexcept {
    return info_.extensions;
  }

  /// Registers a backend that is open already, and holds it.
  ///
  /// errors, of all three: InvalidArgument for null and for an id that is empty, too long or not
  /// printable; RegistrationAlreadyRegistered when the id is registered, with both origins;
  /// NotSupported for a backend that needs CPU features which this machine lacks, and for a
  /// registry of a derived class, which has such functions of its own. Nothing is registered then.
  [[nodiscard]] Status register_backend(std::shared_ptr<const LoadedBackend> backend);

  /// Registers the backends of a plugin file. The file is read, not loaded. The application answers
  /// for the path: its owner is not checked (`Trust::caller`). Also fails as `open_file` and `peek`
  /// do, and with NotSupported for an ABI that does not fit.
  [[nodiscard]] Status register_backend(const std::filesystem::path& plugin);

  /// Registers the backends of a plugin that is linked into the application
  /// (`registry.register_backend(tenon_static_plugin_Add)`).
  [[nodiscard]] Status register_backend(const tenon_plugin_head* plugin);

  /// The backend with `id`, loaded and opened if it is not yet; of several threads one loads it.
  /// The registry must outlive the reference.
  ///
  /// errors: NotFound, in the words of the registry's class, when there is none that can be used;
  /// errors of loading it; InvalidState when what loads the backend looks it up.
  [[nodiscard]] Result<BackendRef> lookup_backend(std::string_view id) const {
    detail::RegistryEntry* entry = ids_.find(id);
    if (entry && entry->slot.try_acquire()) [[likely]]
      return BackendRef(&entry->slot);
    return load(id);
  }

  /// Whether a look-up of `id` would find a backend to load; loads nothing.
  [[nodiscard]] virtual bool contains(std::string_view id) const;

  /// Says of which class the registry is, for layers that need a derived one: an address that the
  /// class chose, null for this class.
  ///
  /// threads: any. errors: never.
  [[nodiscard]] virtual const void* kind() const noexcept { return nullptr; }

 protected:
  /// Loads the backend of `entry` by `open()`, unless it is loaded. Of several threads one loads.
  ///
  /// errors: as `open`; InvalidState when what loads the backend calls this.
  template <class Open>
  [[nodiscard]] static Result<BackendRef> open_slot(detail::RegistryEntry& entry,
                                                    const Open& open) {
    const detail::ScopedLoadLock load_lock(entry.slot.load_lock());
    if (!load_lock) {
      return error(Error::InvalidState, "backend '", entry.id(), "' is looked up by what loads it",
                   load_lock.refusal());
    }
    TENON_RETURN_IF_ERROR(entry.slot.acquire(open));
    return BackendRef(&entry.slot);
  }

  const HostInfo info_;
  // Guards all else, but not `ids_.find`. Taken after a slot's.
  mutable std::mutex mutex_;
  // The entries are of the class that `kind` says.
  detail::IdTable<detail::RegistryEntry> ids_;

 private:
  using Opened = Result<std::shared_ptr<const LoadedBackend>>;
  /// Opens the backend of a record.
  using Open = std::function<Opened(const BackendRecord& record)>;
  struct Entry;

  /// The slow path of a look-up: the backend is not loaded, or not known.
  [[nodiscard]] virtual Result<BackendRef> load(std::string_view id) const;
  [[nodiscard]] Status add(std::string origin, std::span<const BackendRecord> backends, Open open);

  std::vector<std::unique_ptr<Entry>> entries_;
};

/// The backend of `named` with `id`, else the backend of `registry`, which may be null.
///
/// errors: as Registry::lookup_backend; NotFound without a registry.
[[nodiscard]] Result<BackendRef> find_backend(std::span<const BackendRef> named,
                                              const Registry* registry, std::string_view id);

}}}  // namespace tenon::TENON_RELEASE::host
