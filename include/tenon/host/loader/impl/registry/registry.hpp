// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/registry/registry.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <system_error>

#include "tenon/core/concat.hpp"
#include "tenon/core/visible.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/layers/discovery/impl/near_names.hpp"
#include "tenon/host/loader/impl/registry/cpu_features.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/loader/plugin/plugin_gate.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

CpuFeatures::CpuFeatures(std::vector<std::string> names) : names_(std::move(names)) {
  std::sort(names_.begin(), names_.end());
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
}

const CpuFeatures& CpuFeatures::of_this_machine() {
  static const CpuFeatures features(detail::names_of_this_machine());
  return features;
}

bool CpuFeatures::has(std::string_view name) const noexcept {
  return std::binary_search(names_.begin(), names_.end(), name);
}

std::vector<std::string> CpuFeatures::missing(std::span<const std::string> wanted) const {
  std::vector<std::string> out;
  for (const std::string& name : wanted) {
    if (!has(name)) out.push_back(name);
  }
  return out;
}

BackendRegistry::BackendRegistry(HostInfo info)
    : info_(all_layers(std::move(info))), cpu_(nullptr) {}

BackendRegistry::BackendRegistry(HostInfo info, const CpuFeatures* cpu)
    : info_(all_layers(std::move(info))), cpu_(cpu) {}

BackendRegistry::~BackendRegistry() = default;

Registration BackendRegistry::tagged(Registration registration, std::string_view tag) {
  registration.tags.emplace_back(tag);
  return registration;
}

Status BackendRegistry::register_backend(std::shared_ptr<const LoadedBackend> backend,
                                         Registration registration) {
  if (!backend) return error(Error::InvalidArgument, "expected a backend, found null");
  auto source = std::make_shared<PluginSource>();
  source->backends = {backend->record()};
  source->opener = object_opener(std::move(backend));
  source->is_open = true;
  source->description = "an object of the application";
  return register_source(std::move(source), registration);
}

Status BackendRegistry::register_backend(BackendFactory factory, Registration registration) {
  if (!factory) return error(Error::InvalidArgument, "expected a factory, found an empty one");
  auto source = std::make_shared<PluginSource>();
  source->backends.emplace_back().id = registration.name;
  source->opener = factory_opener(std::move(factory));
  source->description = "a factory of the application";
  return register_source(std::move(source), registration);
}

Status BackendRegistry::register_backend(const std::filesystem::path& plugin,
                                         Registration registration) {
  std::error_code failed;
  auto source = std::make_shared<PluginSource>();
  source->path = std::filesystem::absolute(plugin, failed);
  if (failed) {
    return error(Error::AccessFailed, "cannot resolve ", path_text(plugin), ": ", failed.message());
  }
  source->opener = file_opener(Trust::caller);
  TENON_TRY(const OpenedFile file, open_file(source->path, Trust::caller));
  TENON_TRY(source->record, peek(file));
  TENON_RETURN_IF_ERROR(check_abi(*source->record).with_context(path_text(source->path)));
  source->backends = source->record->backends;
  return register_source(std::move(source), registration);
}

Status BackendRegistry::register_backend(const tenon_plugin_head* plugin,
                                         Registration registration) {
  TENON_TRY(const auto linked, Plugin::from_static(plugin, info_));
  auto source = std::make_shared<PluginSource>();
  source->opener = static_plugin_opener(plugin);
  source->record = linked->record();
  source->description = concat("static plugin ", source->record->name);
  source->backends = source->record->backends;
  return register_source(std::move(source), registration);
}

Status BackendRegistry::unregister_backend(std::string_view id) {
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

void BackendRegistry::add_search(std::function<SearchReport()> search) {
  const std::lock_guard lock(mutex_);
  searches_.push_back(std::make_unique<Search>(Search{std::move(search)}));
  searched_.store(false, std::memory_order_release);
}

Result<BackendRef> BackendRegistry::lookup_backend(BackendRef backend) {
  if (!backend) return error(Error::InvalidArgument, "expected a backend, found none");
  return backend;
}

Result<BackendRef> BackendRegistry::lookup_backend(std::shared_ptr<const LoadedBackend> backend) {
  return lookup_backend(BackendRef(std::move(backend)));
}

[[gnu::cold]] Result<BackendRef> BackendRegistry::isolate_backend(
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

bool BackendRegistry::contains(std::string_view id) const {
  search();
  const std::lock_guard lock(mutex_);
  const detail::BackendEntry* entry = table_.find(id);
  return entry && entry->chosen();
}

std::vector<std::string> BackendRegistry::list_backends(
    std::span<const std::string_view> exclude_tags) const {
  search();
  const std::lock_guard lock(mutex_);
  return table_.list(exclude_tags);
}

std::vector<BackendInfo> BackendRegistry::enumerate_backends() const {
  search();
  const std::lock_guard lock(mutex_);
  return enumerate_locked();
}

std::vector<SearchPath> BackendRegistry::search_paths() const {
  search();
  const std::lock_guard lock(mutex_);
  return search_paths_locked();
}

InvalidBackend BackendRegistry::explain(std::string_view id) const {
  search();
  return explain_known(id);
}

/// `explain` after a search.
[[gnu::cold]] InvalidBackend BackendRegistry::explain_known(std::string_view id) const {
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

Status BackendRegistry::register_source(std::shared_ptr<PluginSource> source,
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

std::vector<detail::Provider> BackendRegistry::providers_of(
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

std::vector<std::string_view> BackendRegistry::missing_cpu_features(
    std::span<const std::string_view> wanted) const {
  std::vector<std::string_view> missing;
  if (wanted.empty()) return missing;
  const CpuFeatures& here = cpu_ ? *cpu_ : CpuFeatures::of_this_machine();
  for (const std::string_view feature : wanted) {
    if (!here.has(feature)) missing.push_back(feature);
  }
  return missing;
}

/// Runs the searches that are not done. What this thread or one that waits for it is searching for
/// already is left out.
void BackendRegistry::run_searches() const {
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
[[gnu::cold]] std::vector<std::shared_ptr<const PluginSource>> BackendRegistry::run_search(
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
[[gnu::cold]] std::vector<std::shared_ptr<const PluginSource>> BackendRegistry::adopt(
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
[[gnu::cold]] Result<BackendRef> BackendRegistry::load(std::string_view id) const {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (detail::BackendEntry* entry = table_.find(id)) {
      const detail::ScopedLoadLock load_lock(entry->slot.load_lock());
      if (!load_lock) {
        return error(Error::InvalidState, "backend '", id, "' is looked up by what loads it",
                     load_lock.refusal());
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
[[gnu::cold]] Result<std::shared_ptr<const LoadedBackend>> BackendRegistry::open_chosen(
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
  return source->open(index, info_);
}

std::vector<SearchPath> BackendRegistry::search_paths_locked() const {
  std::vector<SearchPath> out = search_paths_;
  for (const auto& search : searches_) {
    if (search->failure.empty()) continue;
    out.push_back({SearchPathKind::application, {}, Error::Internal, search->failure, 0});
  }
  return out;
}

std::vector<BackendInfo> BackendRegistry::enumerate_locked() const {
  std::vector<BackendInfo> out = table_.describe();
  for (const auto& source : refused_) {
    out.push_back({source, 0, BackendState::refused, source->reason, 0});
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::host
