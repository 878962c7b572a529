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

#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/plugin/backend.hpp"
#include "tenon/host/plugin/host_info.hpp"
#include "tenon/host/plugin/load_lock.hpp"
#include "tenon/host/registry/backend_entry.hpp"
#include "tenon/host/registry/backend_info.hpp"
#include "tenon/host/registry/backend_ref.hpp"
#include "tenon/host/registry/plugin_source.hpp"
#include "tenon/host/registry/provider_table.hpp"

namespace tenon::host {

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
/// machine has; then the one that needs the most CPU features; then the search path that comes
/// first. Two in one search path that are equal in all that are an error at look-up, which names
/// both. A backend that is in use is returned until its last holder releases it.
///
/// The registry itself keeps no plugin loaded: a plugin is unloaded when the last holder of one of
/// its backends (an application, a method) releases it, and loaded again at the next look-up. There
/// is no limit on the number of backends.
///
/// Any thread. A look-up of a loaded backend takes no lock. No lock is held while code of others
/// runs (a factory, a search, a plugin, the log), which may use the registry. Only `std::bad_alloc`
/// leaves these functions; the registry is then as it was, and the next call tries again.
class BackendRegistry {
 public:
  /// `info` describes the host to plugins; its log receives why files were refused.
  explicit BackendRegistry(HostInfo info = {});
  /// Plugins are chosen for `cpu`, which must outlive the registry; null: this machine.
  BackendRegistry(HostInfo info, const CpuFeatures* cpu);
  ~BackendRegistry();
  BackendRegistry(const BackendRegistry&) = delete;
  BackendRegistry& operator=(const BackendRegistry&) = delete;

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
    registration.tags.emplace_back("debug");
    return register_backend(std::forward<What>(what), std::move(registration));
  }

  /// `register_backend` with the tag "experimental": not in lists unless asked for.
  template <class What>
  [[nodiscard]] Status register_experimental_backend(What&& what, Registration registration = {}) {
    registration.tags.emplace_back("experimental");
    return register_backend(std::forward<What>(what), std::move(registration));
  }

  /// Forgets `id` and all its providers. NotFound when it is not known; InvalidState while the
  /// backend is held, with the number of holders, and when what loads the backend calls this.
  [[nodiscard]] Status unregister_backend(std::string_view id);

  /// Adds a search for backends. It runs once, at the next look-up that misses or the next list; of
  /// several threads one runs it and the others wait. The paths of an earlier search come first.
  ///
  /// A search may use the registry, and finds there what is known without it. One that throws is
  /// kept: `search_paths` and the error of a look-up report it, the next miss or list runs it
  /// again, and its paths come after those that were searched meanwhile.
  void add_search(std::function<SearchReport()> search);

  /// The backend with `id`, loaded and opened if it is not yet; of several threads one loads it.
  /// Fails as `InvalidBackend::status` describes when there is none that can be used, and otherwise
  /// with the error of loading it: no other source is tried silently. InvalidState when what loads
  /// the backend looks it up. The registry must outlive the reference.
  [[nodiscard]] Result<BackendRef> lookup_backend(std::string_view id) const {
    detail::BackendEntry* entry = table_.find(id);
    if (entry && entry->slot.try_acquire()) [[likely]]
      return BackendRef(&entry->slot);
    return load(id);
  }

  /// A backend that is at hand already is returned as is.
  [[nodiscard]] static Result<BackendRef> lookup_backend(BackendRef backend);
  [[nodiscard]] static Result<BackendRef> lookup_backend(
      std::shared_ptr<const LoadedBackend> backend);

  /// Whether a look-up of `id` would find a backend to load; loads nothing.
  [[nodiscard]] bool contains(std::string_view id) const;

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

  /// Everything known about why `id` cannot be looked up.
  [[nodiscard]] InvalidBackend explain(std::string_view id) const;

 private:
  /// One call of `add_search`.
  struct Search {
    std::function<SearchReport()> run;  ///< Empty when it is done.
    std::string failure{};              ///< Why it is not done although it ran.
  };

  Status register_source(std::shared_ptr<PluginSource> source, const Registration& registration);
  [[nodiscard]] std::vector<detail::Provider> providers_of(
      const std::shared_ptr<const PluginSource>& source) const;
  void search() const {
    if (!searched_.load(std::memory_order_acquire)) run_searches_(*this);
  }
  void run_searches() const;
  std::vector<std::shared_ptr<const PluginSource>> run_search(Search& search) const;
  std::vector<std::shared_ptr<const PluginSource>> adopt(SearchReport report) const;
  Result<BackendRef> load(std::string_view id) const;
  Result<std::shared_ptr<const LoadedBackend>> open_chosen(detail::BackendEntry& entry,
                                                           bool& usable) const;
  [[nodiscard]] std::vector<BackendInfo> enumerate_locked() const;
  [[nodiscard]] std::vector<SearchPath> search_paths_locked() const {
    return list_search_paths_ ? list_search_paths_(*this) : std::vector<SearchPath>();
  }
  [[nodiscard]] std::vector<SearchPath> list_search_paths() const;
  [[nodiscard]] InvalidBackend explain_known(std::string_view id) const;

  HostInfo info_;
  const CpuFeatures* cpu_;
  detail::MissingFeatures missing_;
  mutable detail::LoadLock search_lock_;  // Held while searching.
  mutable std::atomic<bool> searched_ = true;
  // `run_searches`, from the first search on: registries without one do not compile it.
  void (*run_searches_)(const BackendRegistry&) = nullptr;
  std::vector<SearchPath> (*list_search_paths_)(const BackendRegistry&) = nullptr;
  mutable std::mutex mutex_;  // Guards all below, but not table_.find. Taken after a slot's.
  mutable std::vector<std::unique_ptr<Search>> searches_;  // Addresses stay valid.
  mutable std::vector<SearchPath> search_paths_;
  mutable std::vector<std::shared_ptr<const PluginSource>> refused_;
  mutable detail::ProviderTable table_;
};

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include <algorithm>
#include <exception>
#include <new>
#include <system_error>

#include "tenon/core/concat.hpp"
#include "tenon/core/visible.hpp"
#include "tenon/host/binary/peek.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/plugin/plugin.hpp"
#include "tenon/host/registry/near_names.hpp"

namespace tenon::host {

TENON_API BackendRegistry::BackendRegistry(HostInfo info)
    : info_(std::move(info)), cpu_(nullptr), missing_(&detail::missing_here) {}

TENON_API BackendRegistry::BackendRegistry(HostInfo info, const CpuFeatures* cpu)
    : info_(std::move(info)), cpu_(cpu), missing_(&detail::missing_in) {}

TENON_API BackendRegistry::~BackendRegistry() = default;

TENON_API Status BackendRegistry::register_backend(std::shared_ptr<const LoadedBackend> backend,
                                                   Registration registration) {
  if (!backend) return error(Error::InvalidArgument, "expected a backend, found null");
  auto source = std::make_shared<PluginSource>();
  source->backends = {backend->record()};
  source->object = std::move(backend);
  source->opener_ = &PluginSource::open_object;
  return register_source(std::move(source), registration);
}

TENON_API Status BackendRegistry::register_backend(BackendFactory factory,
                                                   Registration registration) {
  if (!factory) return error(Error::InvalidArgument, "expected a factory, found an empty one");
  auto source = std::make_shared<PluginSource>();
  source->backends.emplace_back().id = registration.name;
  source->factory = std::move(factory);
  source->opener_ = &PluginSource::call_factory;
  return register_source(std::move(source), registration);
}

TENON_API Status BackendRegistry::register_backend(const std::filesystem::path& plugin,
                                                   Registration registration) {
  std::error_code failed;
  auto source = std::make_shared<PluginSource>();
  source->path = std::filesystem::absolute(plugin, failed);
  if (failed) {
    return error(Error::AccessFailed, "cannot resolve ", path_text(plugin), ": ", failed.message());
  }
  source->trust = Trust::caller;
  source->opener_ = &PluginSource::open_file_of_caller;
  TENON_TRY(const OpenedFile file, detail::open_for_caller(source->path));
  TENON_TRY(source->record, peek(file));
  TENON_RETURN_IF_ERROR(check_abi(*source->record).with_context(path_text(source->path)));
  source->backends = source->record->backends;
  return register_source(std::move(source), registration);
}

TENON_API Status BackendRegistry::register_backend(const tenon_plugin_head* plugin,
                                                   Registration registration) {
  TENON_TRY(const auto linked, Plugin::from_static(plugin, info_));
  auto source = std::make_shared<PluginSource>();
  source->linked = plugin;
  source->opener_ = &PluginSource::open_linked;
  source->record = linked->record();
  source->backends = source->record->backends;
  return register_source(std::move(source), registration);
}

TENON_API Status BackendRegistry::unregister_backend(std::string_view id) {
  search();
  detail::BackendEntry* entry = table_.find(id);
  bool known = false;
  std::vector<detail::Provider> dropped;  // Destroyed without the lock: may unload a plugin.
  std::optional<detail::LoadTurn> turn;
  if (entry && !turn.emplace(entry->slot.load_lock())) {
    return error(Error::InvalidState, "backend '", id, "' is unregistered by what loads it");
  }
  const bool unused = entry && entry->slot.if_unused([&] {
    const std::lock_guard lock(mutex_);
    known = !entry->providers.empty();
    dropped.swap(entry->providers);
    entry->in_use = nullptr;
  });
  if (entry && !unused) {
    return error(Error::InvalidState, "backend '", id, "' is in use, ", entry->slot.users(),
                 " times; release it before it is unregistered");
  }
  return known ? ok() : explain_known(id).status();
}

TENON_API void BackendRegistry::add_search(std::function<SearchReport()> search) {
  const std::lock_guard lock(mutex_);
  searches_.push_back(std::make_unique<Search>(Search{std::move(search)}));
  // Once, as look-ups read it without the lock when `searched_` is false.
  if (!run_searches_) {
    run_searches_ = [](const BackendRegistry& self) { self.run_searches(); };
    list_search_paths_ = [](const BackendRegistry& self) { return self.list_search_paths(); };
  }
  searched_.store(false, std::memory_order_release);
}

TENON_API Result<BackendRef> BackendRegistry::lookup_backend(BackendRef backend) {
  if (!backend) return error(Error::InvalidArgument, "expected a backend, found none");
  return backend;
}

TENON_API Result<BackendRef> BackendRegistry::lookup_backend(
    std::shared_ptr<const LoadedBackend> backend) {
  return lookup_backend(BackendRef(std::move(backend)));
}

TENON_API bool BackendRegistry::contains(std::string_view id) const {
  search();
  const std::lock_guard lock(mutex_);
  const detail::BackendEntry* entry = table_.find(id);
  return entry && entry->chosen();
}

TENON_API std::vector<std::string> BackendRegistry::list_backends(
    std::span<const std::string_view> exclude_tags) const {
  search();
  const std::lock_guard lock(mutex_);
  return table_.list(exclude_tags);
}

TENON_API std::vector<BackendInfo> BackendRegistry::enumerate_backends() const {
  search();
  const std::lock_guard lock(mutex_);
  return enumerate_locked();
}

TENON_API std::vector<SearchPath> BackendRegistry::search_paths() const {
  search();
  const std::lock_guard lock(mutex_);
  return search_paths_locked();
}

TENON_API InvalidBackend BackendRegistry::explain(std::string_view id) const {
  search();
  return explain_known(id);
}

/// `explain` after a search.
[[gnu::cold]] TENON_API InvalidBackend BackendRegistry::explain_known(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  InvalidBackend out;
  out.id = id;
  out.known = table_.list({});
  out.near_ids = near_names(id, table_.ids());
  out.search_paths = search_paths_locked();
  for (BackendInfo& info : enumerate_locked()) {
    const bool refused = info.state == BackendState::refused ||
                         info.state == BackendState::unsupported ||
                         info.state == BackendState::disabled;
    if (info.backend() && info.id() == id) {
      out.providers.push_back(std::move(info));
    } else if (refused) {
      out.refused.push_back(std::move(info));
    }
  }
  return out;
}

TENON_COLD TENON_API Status BackendRegistry::register_source(std::shared_ptr<PluginSource> source,
                                                             const Registration& registration) {
  if (!registration.name.empty()) {
    if (source->backends.size() != 1) {
      return error(Error::InvalidArgument, source->origin(), ": a plugin of ",
                   source->backends.size(), " backends cannot be named '", registration.name,
                   "'; register it under its own ids");
    }
    source->backends[0].id = registration.name;
  }
  for (BackendRecord& record : source->backends) {
    TENON_RETURN_IF_ERROR(detail::check_id(record.id).with_context(source->origin()));
    record.tags.insert(record.tags.end(), registration.tags.begin(), registration.tags.end());
  }
  const std::lock_guard lock(mutex_);
  std::vector<detail::Provider> providers = providers_of(source);
  TENON_RETURN_IF_ERROR(table_.check_registration(providers));
  table_.add(std::move(providers));
  return ok();
}

TENON_COLD TENON_API std::vector<detail::Provider> BackendRegistry::providers_of(
    const std::shared_ptr<const PluginSource>& source) const {
  std::vector<detail::Provider> providers(source->backends.size());
  for (std::size_t i = 0; i < providers.size(); ++i) {
    detail::Provider& provider = providers[i];
    provider.source = source;
    provider.index = i;
    if (source->error != Error::Ok) {
      provider.unfit =
          source->error == Error::NotSupported ? BackendState::unsupported : BackendState::refused;
      provider.reason = source->reason;
    } else if (i < source->disabled.size() && !source->disabled[i].empty()) {
      provider.unfit = BackendState::disabled;
      provider.reason = source->disabled[i];
    }
    detail::check_cpu(provider, cpu_, missing_);
  }
  return providers;
}

/// Runs the searches that are not done. What this thread or one that waits for it is searching for
/// already is left out.
TENON_COLD TENON_API void BackendRegistry::run_searches() const {
  for (std::size_t i = 0;; ++i) {
    std::vector<std::shared_ptr<const PluginSource>> refused;
    {
      const detail::LoadTurn turn(search_lock_);
      if (!turn) return;
      Search* next = nullptr;
      {
        const std::lock_guard lock(mutex_);
        if (i == searches_.size()) {
          bool all_done = true;
          for (const auto& each : searches_) all_done = all_done && !each->run;
          searched_.store(all_done, std::memory_order_release);
          return;
        }
        next = searches_[i].get();
      }
      if (next->run) refused = run_search(*next);
    }
    if (!info_.log) continue;
    for (const auto& source : refused) {
      info_.log(TENON_LOG_INFO, source->origin(),
                tenon::detail::visible(concat("refused: ", source->reason)));
    }
  }
}

/// Returns the refused sources that it found. The caller holds `search_lock_`.
[[gnu::cold]] TENON_API std::vector<std::shared_ptr<const PluginSource>>
BackendRegistry::run_search(Search& search) const {
  std::string failure;
  try {
    std::vector<std::shared_ptr<const PluginSource>> refused = adopt(search.run());
    const std::function<SearchReport()> done = std::exchange(search.run, nullptr);
    const std::lock_guard lock(mutex_);
    search.failure.clear();
    return refused;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    failure = concat("the search threw: ", std::string_view(thrown.what()));
  } catch (...) {
    failure = "the search threw what is no std::exception";
  }
  const std::lock_guard lock(mutex_);
  search.failure = std::move(failure);
  return {};
}

/// Takes over what a search found, all of it or nothing when memory runs out. Returns the sources
/// that are refused.
[[gnu::cold]] TENON_API std::vector<std::shared_ptr<const PluginSource>> BackendRegistry::adopt(
    SearchReport report) const {
  std::vector<std::shared_ptr<const PluginSource>> refused;
  std::vector<detail::Provider> providers;
  std::size_t num_empty = 0;
  for (const std::shared_ptr<PluginSource>& source : report.sources) {
    source->opener_ = &PluginSource::open;
    if (source->error != Error::Ok) refused.push_back(source);
    num_empty += source->backends.empty();
    for (detail::Provider& each : providers_of(source)) providers.push_back(std::move(each));
  }
  const std::lock_guard lock(mutex_);
  search_paths_.reserve(search_paths_.size() + report.search_paths.size());
  refused_.reserve(refused_.size() + num_empty);
  table_.add(std::move(providers));
  // Search paths are numbered across searches; 0 is the application.
  const std::size_t first = search_paths_.size() + 1;
  for (SearchPath& each : report.search_paths) search_paths_.push_back(std::move(each));
  for (std::shared_ptr<PluginSource>& source : report.sources) {
    source->search_order += first;
    if (source->backends.empty()) refused_.push_back(std::move(source));
  }
  return refused;
}

/// The slow path of a look-up: the backend is not loaded, or not known yet.
[[gnu::cold]] TENON_API Result<BackendRef> BackendRegistry::load(std::string_view id) const {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (detail::BackendEntry* entry = table_.find(id)) {
      const detail::LoadTurn turn(entry->slot.load_lock());
      if (!turn) {
        return error(Error::InvalidState, "backend '", id,
                     "' is looked up by what loads it, which would wait for itself");
      }
      bool usable = false;
      Status loaded = entry->slot.acquire([&] { return open_chosen(*entry, usable); });
      if (loaded.ok()) return BackendRef(&entry->slot);
      if (usable) return loaded;
    }
    if (attempt == 0) search();
  }
  return explain_known(id).status();
}

/// Opens the provider that is chosen for `entry`. `usable` is set when there is one.
[[gnu::cold]] TENON_API Result<std::shared_ptr<const LoadedBackend>> BackendRegistry::open_chosen(
    detail::BackendEntry& entry, bool& usable) const {
  std::shared_ptr<const PluginSource> source;
  std::size_t index = 0;
  {
    const std::lock_guard lock(mutex_);
    const detail::Provider* chosen = entry.chosen();
    if (!chosen) return error(Error::NotFound, "");
    source = chosen->source;
    index = chosen->index;
    entry.in_use = source.get();
  }
  usable = true;
  return (*source.*source->opener_)(index, info_);
}

TENON_COLD TENON_API std::vector<SearchPath> BackendRegistry::list_search_paths() const {
  std::vector<SearchPath> out = search_paths_;
  for (const auto& search : searches_) {
    if (search->failure.empty()) continue;
    out.push_back({SearchPathKind::application, {}, Error::Internal, search->failure, 0});
  }
  return out;
}

TENON_COLD TENON_API std::vector<BackendInfo> BackendRegistry::enumerate_locked() const {
  std::vector<BackendInfo> out = table_.describe();
  for (const auto& source : refused_) {
    out.push_back({source, 0, BackendState::refused, source->reason, 0});
  }
  return out;
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
