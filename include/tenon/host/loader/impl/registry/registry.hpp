// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/registry/registry.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/impl/registry/cpu_features.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/loader/registry/plugin_slot.hpp"
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

namespace detail {

Status check_id(const std::string& id) {
  if (id.empty()) return error(Error::InvalidArgument, "the id of a backend is empty");
  if (id.size() >= TENON_ID_SIZE || id.find('\0') != std::string::npos) {
    return error(Error::InvalidArgument, "the id ", host::quoted(id), " of a backend has ",
                 id.size(), " bytes, expected at most ", TENON_ID_SIZE - 1, " and no NUL");
  }
  return check_text(id, "the id of a backend");
}

Result<PluginFile> read_plugin_file(const std::filesystem::path& path) {
  std::error_code failed;
  PluginFile out{std::filesystem::absolute(path, failed), {}};
  if (failed) {
    return error(Error::AccessFailed, "cannot resolve ", path_text(path), ": ", failed.message());
  }
  TENON_TRY(const OpenedFile file, open_named_file(out.path));
  TENON_TRY(out.record, peek(file));
  TENON_RETURN_IF_ERROR(check_abi(out.record).with_context(path_text(out.path)));
  return out;
}

}  // namespace detail

struct Registry::Entry : detail::RegistryEntry {
  Entry(const BackendRecord& of, std::string from, Open by)
      : RegistryEntry(of.id), record(of), origin(std::move(from)), open(std::move(by)) {}

  const BackendRecord record;
  const std::string origin;  ///< The file, or what else it is, for error texts.
  const Open open;
};

Registry::Registry(HostInfo info) : info_(std::move(info)) {}

Registry::~Registry() = default;

Status Registry::register_backend(std::shared_ptr<const LoadedBackend> backend) {
  if (!backend) return error(Error::InvalidArgument, "expected a backend, found null");
  const BackendRecord& record = backend->record();
  return add("an object of the application", std::span(&record, 1),
             [held = std::move(backend)](const BackendRecord&) -> Opened { return held; });
}

Status Registry::register_backend(const std::filesystem::path& plugin) {
  TENON_TRY(detail::PluginFile found, detail::read_plugin_file(plugin));
  const auto file = std::make_shared<const detail::PluginFile>(std::move(found));
  const auto load = [this, file]() -> Result<std::shared_ptr<Plugin>> {
    TENON_TRY(OpenedFile opened, open_named_file(file->path));
    return Plugin::load(std::move(opened), &file->record, info_);
  };
  const std::string origin = path_text(file->path);
  return add(origin, file->record.backends,
             [slot = std::make_shared<detail::PluginSlot>(), load,
              origin](const BackendRecord& record) -> Opened {
               return slot->backend(origin, record.id, load);
             });
}

Status Registry::register_backend(const tenon_plugin_head* plugin) {
  TENON_TRY(const auto linked, Plugin::from_static(plugin, info_));
  const std::string origin = concat("static plugin ", linked->record().name);
  const auto load = [this, plugin] { return Plugin::from_static(plugin, info_); };
  return add(origin, linked->record().backends,
             [slot = std::make_shared<detail::PluginSlot>(), load,
              origin](const BackendRecord& record) -> Opened {
               return slot->backend(origin, record.id, load);
             });
}

bool Registry::contains(std::string_view id) const { return ids_.find(id) != nullptr; }

[[gnu::cold]] Status Registry::add(std::string origin, std::span<const BackendRecord> backends,
                                   Open open) {
  if (kind() != nullptr) {
    return error(Error::NotSupported, origin,
                 ": is registered as for a Registry; expected the functions of the derived class");
  }
  std::vector<std::unique_ptr<Entry>> added;
  for (const BackendRecord& record : backends) {
    TENON_RETURN_IF_ERROR(detail::check_id(record.id).with_context(origin));
    const std::string missing =
        join(CpuFeatures::of_this_machine().missing(record.cpu_features), ", ");
    if (!missing.empty()) {
      return error(Error::NotSupported, origin, ": backend '", record.id,
                   "' needs CPU features that this CPU lacks: ", missing);
    }
    added.push_back(std::make_unique<Entry>(record, origin, open));
  }
  const std::lock_guard lock(mutex_);
  for (const auto& entry : added) {
    const detail::RegistryEntry* const other = ids_.find(entry->id());
    if (!other) continue;
    return error(Error::RegistrationAlreadyRegistered, "backend '", entry->id(), "' of ", origin,
                 " is registered already, by ", static_cast<const Entry*>(other)->origin);
  }
  entries_.reserve(entries_.size() + added.size());
  ids_.reserve(added.size());
  for (auto& entry : added) {
    ids_.insert(entry.get());
    entries_.push_back(std::move(entry));
  }
  return ok();
}

[[gnu::cold]] Result<BackendRef> Registry::load(std::string_view id) const {
  detail::RegistryEntry* const found = ids_.find(id);
  if (!found) return error(Error::NotFound, "backend ", quoted(id), " is not registered");
  const Entry& entry = static_cast<const Entry&>(*found);
  return open_slot(*found, [&] { return entry.open(entry.record); });
}

Result<BackendRef> find_backend(std::span<const BackendRef> named, const Registry* registry,
                                std::string_view id) {
  for (const BackendRef& backend : named) {
    if (backend && backend->id() == id) return backend;
  }
  if (!registry) return error(Error::NotFound, "no backends are registered");
  return registry->lookup_backend(id);
}

}}}  // namespace tenon::TENON_RELEASE::host
