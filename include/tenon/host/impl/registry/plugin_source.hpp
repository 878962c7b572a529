// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/registry/plugin_source.hpp"

#include <exception>
#include <new>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/plugin/plugin.hpp"

namespace tenon::host {

std::string SearchPath::name() const {
  return path.empty() ? std::string(search_path_name(kind))
                      : concat(search_path_name(kind), " ", path_text(path));
}

std::string PluginSource::origin() const {
  if (!manifest.empty() && path.empty()) return path_text(manifest);
  if (!path.empty()) return path_text(path);
  if (linked) return concat("static plugin ", record ? record->name : std::string());
  return object ? "an object of the application" : "a factory of the application";
}

Result<std::shared_ptr<const LoadedBackend>> PluginSource::open(std::size_t index,
                                                                const HostInfo& info) const {
  if (object) return object;
  if (factory) return call_factory();
  TENON_TRY(const std::shared_ptr<Plugin> plugin, load(info));
  return plugin->backend(record->backends[index].id);
}

[[gnu::cold]] Result<std::shared_ptr<const LoadedBackend>> PluginSource::call_factory() const {
  try {
    auto made = factory();
    if (made.ok() && !*made) {
      return tenon::error(Error::Internal, "the factory of backend '", backends[0].id,
                          "' returned null, expected a backend");
    }
    return made;
  } catch (const std::bad_alloc&) {
    return tenon::error(Error::MemoryAllocationFailed, "the factory of backend '", backends[0].id,
                        "' ran out of memory");
  } catch (const std::exception& thrown) {
    return tenon::error(Error::Internal, "the factory of backend '", backends[0].id,
                        "' threw: ", std::string_view(thrown.what()));
  } catch (...) {
    return tenon::error(Error::Internal, "the factory of backend '", backends[0].id,
                        "' threw an exception not derived from std::exception");
  }
}

[[gnu::cold]] Result<std::shared_ptr<Plugin>> PluginSource::load(const HostInfo& info) const {
  const detail::ScopedLoadLock load_lock(load_lock_);
  if (!load_lock) {
    return tenon::error(Error::InvalidState, origin(),
                        ": a backend of this plugin is looked up by ",
                        "what loads the plugin, which would wait for itself");
  }
  if (auto plugin = loaded_.lock()) return plugin;
  auto plugin = linked ? Plugin::from_static(linked, info) : load_file(info);
  if (plugin.ok()) loaded_ = *plugin;
  return plugin;
}

Result<std::shared_ptr<Plugin>> PluginSource::load_file(const HostInfo& info) const {
  TENON_TRY(OpenedFile file, open_file(path, trust));
  if (sha256) {
    TENON_TRY(const Sha256 found, sha256_of_file(file.descriptor.get()));
    if (found != *sha256) {
      return tenon::error(Error::AccessFailed, path_text(path), ": its SHA-256 is ", found.to_hex(),
                          ", ", path_text(manifest), " expects ", sha256->to_hex());
    }
  }
  return Plugin::load(std::move(file), &*record, info);
}

}  // namespace tenon::host
