// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/discovery/provider_registry.hpp"

#include <exception>
#include <new>

#include "tenon/core/concat.hpp"
#include "tenon/core/visible.hpp"
#include "tenon/host/layers/discovery/impl/near_names.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/loader/plugin/plugin_gate.hpp"
#include "tenon/host/loader/registry/cpu_features.hpp"
#include "tenon/host/loader/registry/plugin_slot.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

ProviderRegistry::ProviderRegistry(HostInfo info, const CpuFeatures* cpu)
    : Registry(std::move(info)), cpu_(cpu) {}

ProviderRegistry::~ProviderRegistry() = default;

namespace detail {
inline constexpr char provider_registry = 0;  // Its address is the kind.
}

const void* ProviderRegistry::kind() const noexcept { return &detail::provider_registry; }

const ProviderRegistry* ProviderRegistry::of(const Registry* registry) noexcept {
  const bool is_one = registry && registry->kind() == &detail::provider_registry;
  return is_one ? static_cast<const ProviderRegistry*>(registry) : nullptr;
}

Registration ProviderRegistry::tagged(Registration registration, std::string_view tag) {
  registration.tags.emplace_back(tag);
  return registration;
}

Status ProviderRegistry::register_backend(std::shared_ptr<const LoadedBackend> backend,
                                          Registration registration) {
  if (!backend) return error(Error::InvalidArgument, "expected a backend, found null");
  auto source = std::make_shared<PluginSource>();
  source->backends = {backend->record()};
  source->opener = object_opener(std::move(backend));
  source->is_open = true;
  source->description = "an object of the application";
  return register_source(std::move(source), registration);
}

Status ProviderRegistry::register_backend(BackendFactory factory, Registration registration) {
  if (!factory) return error(Error::InvalidArgument, "expected a factory, found an empty one");
  auto source = std::make_shared<PluginSource>();
  source->backends.emplace_back().id = registration.name;
  source->opener = factory_opener(std::move(factory));
  source->description = "a factory of the application";
  return register_source(std::move(source), registration);
}

Status ProviderRegistry::register_backend(const std::filesystem::path& plugin,
                                          Registration registration) {
  TENON_TRY(detail::PluginFile file, detail::read_plugin_file(plugin));
  auto source = std::make_shared<PluginSource>();
  source->path = std::move(file.path);
  source->opener = file_opener(Trust::caller);
  source->record = std::move(file.record);
  source->backends = source->record->backends;
  return register_source(std::move(source), registration);
}

Status ProviderRegistry::register_backend(const tenon_plugin_head* plugin,
                                          Registration registration) {
  TENON_TRY(const auto linked, Plugin::from_static(plugin, info_));
  auto source = std::make_shared<PluginSource>();
  source->opener = static_plugin_opener(plugin);
  source->record = linked->record();
  source->description = concat("static plugin ", source->record->name);
  source->backends = source->record->backends;
  return register_source(std::move(source), registration);
}

Status ProviderRegistry::unregister_backend(std::string_view id) {
  search();
  detail::BackendEntry* entry = table_.find(id);
  bool known = false;
  std::vector<detail::Provider> dropped;  // Destroyed without the lock: may unload a plugin.
  std::optional<detail::ScopedLoadLock> load_lock;
  if (entry && !load_lock.emplace(entry->slot.load_lock())) {
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

void ProviderRegistry::add_search(std::function<SearchReport()> search) {
  const std::lock_guard lock(mutex_);
  searches_.push_back(std::make_unique<Search>(Search{std::move(search)}));
  searched_.store(false, std::memory_order_release);
}

Result<BackendRef> ProviderRegistry::lookup_backend(BackendRef backend) {
  if (!backend) return error(Error::InvalidArgument, "expected a backend, found none");
  return backend;
}

Result<BackendRef> ProviderRegistry::lookup_backend(std::shared_ptr<const LoadedBackend> backend) {
  return lookup_backend(BackendRef(std::move(backend)));
}

[[gnu::cold]] Result<BackendRef> ProviderRegistry::isolate_backend(
    std::string_view id, std::shared_ptr<const PluginGate> isolation) const {
  search();
  std::shared_ptr<const PluginSource> source;
  std::size_t index = 0;
  {
    const std::lock_guard lock(mutex_);
    const detail::BackendEntry* entry = table_.find(id);
    if (const detail::Provider* chosen = entry ? entry->chosen() : nullptr) {
      source = chosen->source;
      index = chosen->index;
    }
  }
  if (!source) return explain_known(id).status();
  PluginRecord record;
  if (source->record) {
    record = *source->record;
  } else {
    record.backends = source->backends;
  }
  TENON_TRY(const bool apart, isolation->isolates(record, path_text(source->path.filename())));
  if (!apart) return BackendRef();
  if (source->path.empty()) {
    return error(Error::NotSupported, source->origin(), ": backend '", id,
                 "' is to run in a process of its own, and is part of the application");
  }
  if (record.backends[index].id != id) {
    return error(Error::NotSupported, source->origin(), ": backend '", id,
                 "' is to run in a process of its own, and is registered under another name than ",
                 record.backends[index].id);
  }
  HostInfo info = info_;
  info.gates.insert(info.gates.begin(), std::move(isolation));
  const bool by_application = source->search_path_kind == SearchPathKind::application;
  const BackendOpener open = file_opener(by_application ? Trust::caller : Trust::checked);
  TENON_TRY(auto backend, open(*source, index, info));
  return BackendRef(std::move(backend));
}

bool ProviderRegistry::contains(std::string_view id) const {
  search();
  const std::lock_guard lock(mutex_);
  const detail::BackendEntry* entry = table_.find(id);
  return entry && entry->chosen();
}

std::vector<std::string> ProviderRegistry::list_backends(
    std::span<const std::string_view> exclude_tags) const {
  search();
  const std::lock_guard lock(mutex_);
  return table_.list(exclude_tags);
}

std::vector<BackendInfo> ProviderRegistry::enumerate_backends() const {
  search();
  const std::lock_guard lock(mutex_);
  return enumerate_locked();
}

std::vector<SearchPath> ProviderRegistry::search_paths() const {
  search();
  const std::lock_guard lock(mutex_);
  return search_paths_locked();
}

InvalidBackend ProviderRegistry::explain(std::string_view id) const {
  search();
  return explain_known(id);
}

/// `explain` after a search.
[[gnu::cold]] InvalidBackend ProviderRegistry::explain_known(std::string_view id) const {
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

Status ProviderRegistry::register_source(std::shared_ptr<PluginSource> source,
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

std::vector<detail::Provider> ProviderRegistry::providers_of(
    const std::shared_ptr<const PluginSource>& source) const {
  std::vector<detail::Provider> providers(source->backends.size());
  for (std::size_t i = 0; i < providers.size(); ++i) {
    detail::Provider& provider = providers[i];
    provider.source = source;
    provider.index = i;
    if (source->error != Error::Ok) {
      provider.rejection =
          source->error == Error::NotSupported ? BackendState::unsupported : BackendState::refused;
      provider.reason = source->reason;
    } else if (i < source->disabled.size() && !source->disabled[i].empty()) {
      provider.rejection = BackendState::disabled;
      provider.reason = source->disabled[i];
    }
    detail::check_cpu(provider, cpu_);
  }
  return providers;
}

std::vector<std::string_view> ProviderRegistry::missing_cpu_features(
    std::span<const std::string_view> wanted) const {
  std::vector<std::string_view> missing;
  if (wanted.empty()) return missing;
  const CpuFeatures& here = cpu_ ? *cpu_ : CpuFeatures::of_this_machine();
  for (const std::string_view feature : wanted) {
    if (!here.has(feature)) missing.push_back(feature);
  }
  return missing;
}

/// Runs the searches that are not done. Leaves out what this thread, or a thread that waits for it,
/// is already searching for.
void ProviderRegistry::run_searches() const {
  for (std::size_t i = 0;; ++i) {
    std::vector<std::shared_ptr<const PluginSource>> refused;
    {
      const detail::ScopedLoadLock load_lock(search_lock_);
      if (!load_lock) return;
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
[[gnu::cold]] std::vector<std::shared_ptr<const PluginSource>> ProviderRegistry::run_search(
    Search& search) const {
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
    failure = "the search threw an exception not derived from std::exception";
  }
  const std::lock_guard lock(mutex_);
  search.failure = std::move(failure);
  return {};
}

/// Takes over what a search found, all of it or nothing when memory runs out. Returns the sources
/// that are refused.
[[gnu::cold]] std::vector<std::shared_ptr<const PluginSource>> ProviderRegistry::adopt(
    SearchReport report) const {
  std::vector<std::shared_ptr<const PluginSource>> refused;
  std::vector<detail::Provider> providers;
  std::size_t num_empty = 0;
  for (const std::shared_ptr<PluginSource>& source : report.sources) {
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
[[gnu::cold]] Result<BackendRef> ProviderRegistry::load(std::string_view id) const {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (detail::BackendEntry* entry = table_.find(id)) {
      bool is_missing = false;
      auto opened = open_slot(*entry, [&] { return open_chosen(*entry, is_missing); });
      if (!is_missing) return opened;
    }
    if (attempt == 0) search();
  }
  return explain_known(id).status();
}

/// Opens the provider that is chosen for `entry`. `is_missing` is set when there is none.
[[gnu::cold]] Result<std::shared_ptr<const LoadedBackend>> ProviderRegistry::open_chosen(
    detail::BackendEntry& entry, bool& is_missing) const {
  std::shared_ptr<const PluginSource> source;
  std::size_t index = 0;
  {
    const std::lock_guard lock(mutex_);
    const detail::Provider* chosen = entry.chosen();
    if (!chosen) {
      is_missing = true;
      return error(Error::NotFound, "");
    }
    source = chosen->source;
    index = chosen->index;
    entry.in_use = source.get();
  }
  return source->open(index, info_);
}

std::vector<SearchPath> ProviderRegistry::search_paths_locked() const {
  std::vector<SearchPath> out = search_paths_;
  for (const auto& search : searches_) {
    if (search->failure.empty()) continue;
    out.push_back({SearchPathKind::application, {}, Error::Internal, search->failure, 0});
  }
  return out;
}

std::vector<BackendInfo> ProviderRegistry::enumerate_locked() const {
  std::vector<BackendInfo> out = table_.describe();
  for (const auto& source : refused_) {
    out.push_back({source, 0, BackendState::refused, source->reason, 0});
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::host
