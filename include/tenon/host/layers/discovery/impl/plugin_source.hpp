// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/discovery/plugin_source.hpp"

#include <exception>
#include <new>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/loader/plugin/plugin_gate.hpp"
#include "tenon/host/loader/registry/plugin_slot.hpp"
#include "tenon/host/platform/impl/sealed_copy.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

std::string SearchPath::name() const {
  return path.empty() ? std::string(search_path_name(kind))
                      : concat(search_path_name(kind), " ", path_text(path));
}

std::string PluginSource::origin() const {
  if (!path.empty()) return path_text(path);
  return manifest.empty() ? description : path_text(manifest);
}

Result<std::shared_ptr<const LoadedBackend>> PluginSource::open(std::size_t index,
                                                                const HostInfo& info) const {
  if (opener) return opener(*this, index, info);
  return tenon::error(Error::InvalidState, origin(), ": the source has no opener");
}

BackendOpener object_opener(std::shared_ptr<const LoadedBackend> backend) {
  return [held = std::move(backend)](
             const PluginSource&, std::size_t,
             const HostInfo&) -> Result<std::shared_ptr<const LoadedBackend>> { return held; };
}

BackendOpener factory_opener(BackendFactory factory) {
  return
      [make = std::move(factory)](const PluginSource& source, std::size_t index,
                                  const HostInfo&) -> Result<std::shared_ptr<const LoadedBackend>> {
        const std::string& id = source.backends[index].id;
        try {
          auto made = make();
          if (made.ok() && !*made) {
            return error(Error::Internal, "the factory of backend '", id,
                         "' returned null, expected a backend");
          }
          return made;
        } catch (const std::bad_alloc&) {
          return error(Error::MemoryAllocationFailed, "the factory of backend '", id,
                       "' ran out of memory");
        } catch (const std::exception& thrown) {
          return error(Error::Internal, "the factory of backend '", id,
                       "' threw: ", std::string_view(thrown.what()));
        } catch (...) {
          return error(Error::Internal, "the factory of backend '", id,
                       "' threw an exception not derived from std::exception");
        }
      };
}

namespace detail {

/// `load(source, info)` returns the plugin.
template <class Load>
BackendOpener plugin_opener(Load load) {
  return [slot = std::make_shared<PluginSlot>(), load](
             const PluginSource& source, std::size_t index,
             const HostInfo& info) -> Result<std::shared_ptr<const LoadedBackend>> {
    return slot->backend(source.origin(), source.record->backends[index].id,
                         [&] { return load(source, info); });
  };
}

}  // namespace detail

BackendOpener static_plugin_opener(const tenon_plugin_head* plugin) {
  return detail::plugin_opener([plugin](const PluginSource&, const HostInfo& info) {
    return Plugin::from_static(plugin, info);
  });
}

BackendOpener file_opener(Trust trust) {
  return detail::plugin_opener(
      [trust](const PluginSource& source, const HostInfo& info) -> Result<std::shared_ptr<Plugin>> {
        TENON_TRY(OpenedFile opened, open_file(source.path, trust));
        TENON_TRY(OpenedFile file, admit(std::move(opened), source.signature, info.gates));
        if (source.sha256) {
          if (detail::has_sealed_copies && !file.is_admitted) {
            TENON_TRY(file, detail::sealed_copy(file, "to check its SHA-256"));
          }
          TENON_TRY(const Sha256 found, sha256_of_file(file.descriptor.get()));
          if (found != *source.sha256) {
            return error(Error::AccessFailed, path_text(source.path), ": its SHA-256 is ",
                         found.to_hex(), ", ", path_text(source.manifest), " expects ",
                         source.sha256->to_hex());
          }
        }
        return Plugin::load(std::move(file), &*source.record, info);
      });
}

}}}  // namespace tenon::TENON_RELEASE::host
