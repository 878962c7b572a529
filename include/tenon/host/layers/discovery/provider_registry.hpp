// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/discovery/backend_entry.hpp"
#include "tenon/host/layers/discovery/backend_info.hpp"
#include "tenon/host/layers/discovery/plugin_source.hpp"
#include "tenon/host/layers/discovery/provider_table.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/host_info.hpp"
#include "tenon/host/loader/plugin/load_lock.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"
#include "tenon/host/loader/registry/registry.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The application's additions to a backend that it registers.
struct Registration {
  std::string name{};               ///< The id to look it up by; empty: its own.
  std::vector<std::string> tags{};  ///< Added to its own.
};

/// Finds backends by the id that programs name. Two tables, as in TorchDynamo's registry
/// (torch/_dynamo/backends/registry.py): what is known, by a plugin's record alone, and what is
/// loaded. A backend is loaded when it is looked up for the first time.
///
/// Backends come from the application, which registers them, and from searches (`discovery`), which
/// run when a look-up misses or a list is asked for, once. When several have one id, what the
/// application registered wins; then the highest priority among those whose CPU features this
/// machine has; then the backend that needs the most CPU features; then the search path that comes
/// first. Two in one search path that are equal in all that are an error at look-up, which names
/// both. A backend that is in use is returned until its last holder releases it.
///
/// The registry itself keeps no plugin loaded: a plugin is unloaded when the last holder of one of
/// its backends (an application, a method) releases it, and loaded again at the next look-up. There
/// is no limit on the number of backends.
///
/// Any thread. A look-up of a loaded backend takes no lock. No lock is held while third-party code
/// runs (a factory, a search, a plugin, the log), which may use the registry. Only `std::bad_alloc`
/// leaves these functions; the registry is then as it was, and the next call tries again.
class ProviderRegistry : public Registry {
 public:
  /// `info` describes the host to plugins; its log receives why files were refused.
  explicit ProviderRegistry(HostInfo info = {}) : ProviderRegistry(std::move(info), nullptr) {}
  /// Plugins are chosen for `cpu`, which must outlive the registry; null: this machine.
  ProviderRegistry(HostInfo info, const CpuFeatures* cpu);
  ~ProviderRegistry() override;

  /// `registry` when it is of this class or of a class that derives from it; otherwise null.
  ///
  /// threads: any. errors: never.
  [[nodiscard]] static const ProviderRegistry* of(const Registry* registry) noexcept;

  /// Registers a backend that is open already. The registry holds it until it is unregistered.
  ///
  /// errors, of all four: InvalidArgument for an id that is empty, too long or not printable, and
  /// for null; RegistrationAlreadyRegistered when the application registered the id before, unless
  /// both are files that need different CPU features (variants of one backend: the best that fits
  /// is taken); InvalidState while a backend of that id is in use, which look-ups would go on to
  /// return. The text has both origins. Nothing is registered then.
  [[nodiscard]] Status register_backend(std::shared_ptr<const LoadedBackend> backend,
                                        Registration registration = {});

  /// Registers a function that makes a backend at its first look-up. `registration.name` must be
  /// given: the factory is not called before.
  [[nodiscard]] Status register_backend(BackendFactory factory, Registration registration);

  /// Registers the backends of a plugin file. The file is read, not loaded. The application answers
  /// for the path: its owner is not checked (`Trust::caller`). A plugin with several backends
  /// cannot be given a name. Also fails as `open_file` and `peek` do, and with NotSupported for an
  /// ABI that does not fit.
  [[nodiscard]] Status register_backend(const std::filesystem::path& plugin,
                                        Registration registration = {});

  /// Registers the backends of a plugin that is linked into the application
  /// (`registry.register_backend(tenon_static_plugin_Add)`).
  [[nodiscard]] Status register_backend(const tenon_plugin_head* plugin,
                                        Registration registration = {});

  /// The deferred form: a function object that registers what it is called with, as one of the four
  /// above does. `registration` is kept in it, and this registry must outlive it. (TorchDynamo:
  /// `register_backend` without a function returns a partial one.)
  ///
  ///     const auto as_npu = registry.register_backend({.name = "Npu", .tags = {"experimental"}});
  ///     TENON_RETURN_IF_ERROR(as_npu(plugin));
  [[nodiscard]] auto register_backend(Registration registration) {
    return [this, kept = std::move(registration)]<class What>(What&& what) -> Status {
      return register_backend(std::forward<What>(what), kept);
    };
  }

  /// `register_backend` with the tag "debug": not in lists unless asked for.
  template <class What>
  [[nodiscard]] Status register_debug_backend(What&& what, Registration registration = {}) {
    return register_backend(std::forward<What>(what), tagged(std::move(registration), "debug"));
  }

  /// `register_backend` with the tag "experimental": not in lists unless asked for.
  template <class What>
  [[nodiscard]] Status register_experimental_backend(What&& what, Registration registration = {}) {
    return register_backend(std::forward<What>(what),
                            tagged(std::move(registration), "experimental"));
  }

  /// Forgets `id` and all its providers. NotFound when it is not known; InvalidState while the
  /// backend is held, with the number of holders, and when what loads the backend calls this.
  [[nodiscard]] Status unregister_backend(std::string_view id);

  /// Adds a search for backends. It runs once, at the next look-up that misses or the next list; of
  /// several threads one runs it and the others wait. The paths of an earlier search come first.
  ///
  /// A search may use the registry, and finds there what is known without it. A search that throws
  /// is kept: `search_paths` and the error of a look-up report it, the next miss or list runs it
  /// again, and its paths come after those that were searched meanwhile.
  void add_search(std::function<SearchReport()> search);

  /// The backend with `id`, loaded and opened if it is not yet; of several threads one loads it.
  /// Fails as `InvalidBackend::status` describes when there is none that can be used, and otherwise
  /// with the error of loading it: no other source is tried silently. InvalidState when what loads
  /// the backend looks it up. The registry must outlive the reference.
  using Registry::lookup_backend;

  /// A backend that is at hand already is returned as is.
  [[nodiscard]] static Result<BackendRef> lookup_backend(BackendRef backend);
  [[nodiscard]] static Result<BackendRef> lookup_backend(
      std::shared_ptr<const LoadedBackend> backend);

  /// The backend that a look-up of `id` would load, in a process of its own, loaded for the caller
  /// alone: look-ups do not return it. An empty reference when `isolation` does not isolate it.
  ///
  /// errors: as a look-up and as `isolation`; NotSupported for a backend that is isolated and not
  /// in a file, and for a backend that is registered under another name.
  [[nodiscard]] Result<BackendRef> isolate_backend(
      std::string_view id, std::shared_ptr<const PluginGate> isolation) const;

  [[nodiscard]] bool contains(std::string_view id) const override;
  [[nodiscard]] const void* kind() const noexcept override;

  /// The ids that can be looked up, sorted, without those that have one of `exclude_tags`. Loads
  /// nothing.
  [[nodiscard]] std::vector<std::string> list_backends(
      std::span<const std::string_view> exclude_tags = default_exclude_tags) const;
  [[nodiscard]] std::vector<std::string> list_backends(
      std::initializer_list<std::string_view> exclude_tags) const {
    return list_backends(std::span(exclude_tags.begin(), exclude_tags.size()));
  }

  /// Tags of backends that lists leave out unless asked for.
  static constexpr std::string_view default_exclude_tags[] = {"debug", "experimental"};

  /// Everything that was found or registered, with its state: sorted by id, sources that were
  /// refused as a whole at the end. Loads nothing.
  [[nodiscard]] std::vector<BackendInfo> enumerate_backends() const;

  /// The paths that were searched, in order, and then each search that threw, as a path of the
  /// application with the error.
  [[nodiscard]] std::vector<SearchPath> search_paths() const;

  /// The features of `wanted` that the CPU for which plugins are chosen lacks, in their order.
  [[nodiscard]] std::vector<std::string_view> missing_cpu_features(
      std::span<const std::string_view> wanted) const;

  /// Everything known about why `id` cannot be looked up.
  [[nodiscard]] InvalidBackend explain(std::string_view id) const;

 private:
  /// One call of `add_search`.
  struct Search {
    std::function<SearchReport()> run;  ///< Empty when it is done.
    std::string failure{};              ///< Why it is not done although it ran.
  };

  [[nodiscard]] static Registration tagged(Registration registration, std::string_view tag);
  Status register_source(std::shared_ptr<PluginSource> source, const Registration& registration);
  [[nodiscard]] std::vector<detail::Provider> providers_of(
      const std::shared_ptr<const PluginSource>& source) const;
  void search() const {
    if (!searched_.load(std::memory_order_acquire)) run_searches();
  }
  void run_searches() const;
  std::vector<std::shared_ptr<const PluginSource>> run_search(Search& search) const;
  std::vector<std::shared_ptr<const PluginSource>> adopt(SearchReport report) const;
  [[nodiscard]] Result<BackendRef> load(std::string_view id) const override;
  Result<std::shared_ptr<const LoadedBackend>> open_chosen(detail::BackendEntry& entry,
                                                           bool& is_missing) const;
  [[nodiscard]] std::vector<BackendInfo> enumerate_locked() const;
  [[nodiscard]] std::vector<SearchPath> search_paths_locked() const;
  [[nodiscard]] InvalidBackend explain_known(std::string_view id) const;

  const CpuFeatures* const cpu_;
  mutable detail::LoadLock search_lock_;  // Held while searching.
  mutable std::atomic<bool> searched_ = true;
  // Guarded by the mutex, but for table_.find.
  mutable std::vector<std::unique_ptr<Search>> searches_;  // Addresses stay valid.
  mutable std::vector<SearchPath> search_paths_;
  mutable std::vector<std::shared_ptr<const PluginSource>> refused_;
  mutable detail::ProviderTable table_{ids_};
};

}}}  // namespace tenon::TENON_RELEASE::host
