// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/plugin/plugin.hpp"

#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"
#include "tenon/host/loader/impl/plugin/path_library.hpp"
#include "tenon/host/loader/plugin/load_lock.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/loader/plugin/plugin_gate.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The state of a plugin. `Plugin` shows it to applications without its types.
class LoadedPlugin final : public Plugin, public std::enable_shared_from_this<LoadedPlugin> {
 public:
  /// A plugin whose `libraries` are loaded; they are null for a plugin that is linked in. `head`
  /// has its record.
  [[nodiscard]] static Result<std::shared_ptr<LoadedPlugin>> create(
      const tenon_plugin_head* head, std::string path, HostInfo info,
      std::unique_ptr<LoadedLibraries> libraries) {
    std::shared_ptr<LoadedPlugin> plugin(
        new LoadedPlugin(head, std::move(path), std::move(info), std::move(libraries)));
    TENON_RETURN_IF_ERROR(plugin->read_head());
    return plugin;
  }

  [[nodiscard]] const std::string& the_path() const noexcept { return path_; }
  [[nodiscard]] const PluginRecord& the_record() const noexcept { return record_; }

  [[nodiscard]] std::string_view name() const noexcept {
    return path_.empty() ? std::string_view(record_.name) : std::string_view(path_);
  }

  [[nodiscard]] Result<std::shared_ptr<const LoadedBackend>> open(std::size_t index) {
    const ScopedLoadLock load_lock(load_lock_);
    if (!load_lock) {
      return error(Error::InvalidState, name(), ": backend ", record_.backends[index].id,
                   " is opened by what opens a backend of this plugin", load_lock.refusal());
    }
    std::optional<LoadedBackend>& slot = opened_[index];
    if (!slot) {
      const tenon_backend_api* api = body().backends[index];
      const BackendRecord& record = record_.backends[index];
      if (!api) {
        return error(Error::InvalidArgument, name(), ": backend ", record.id,
                     " has no function table");
      }
      auto backend = LoadedBackend::open(record, host_.get(), *api);
      if (!backend.ok()) return std::move(backend).status().with_context(name());
      slot.emplace(*std::move(backend));
    }
    return std::shared_ptr<const LoadedBackend>(shared_from_this(), &*slot);
  }

 private:
  LoadedPlugin(const tenon_plugin_head* head, std::string path, HostInfo info,
               std::unique_ptr<LoadedLibraries> libraries)
      : libraries_(std::move(libraries)),
        path_(std::move(path)),
        host_(std::move(info), path_, libraries_.get()),
        head_(head) {}

  [[nodiscard]] Status read_head() {
    const std::string where = path_.empty() ? "static plugin" : path_;
    const std::span object(reinterpret_cast<const std::byte*>(head_), head_->object_size);
    TENON_TRY(record_, read_record(object, where));
    TENON_RETURN_IF_ERROR(check_abi(record_).with_context(where));
    if (!TENON_HAS_MEMBER(body(), backends) || body().backends == nullptr ||
        body().num_backends != head_->num_backends) {
      return error(Error::InvalidArgument, where, ": the plugin's body has ", body().struct_size,
                   " bytes and ", body().num_backends, " backends, expected at least ",
                   sizeof(tenon_plugin_body), " bytes and ", head_->num_backends, " backends");
    }
    opened_.resize(record_.backends.size());
    return ok();
  }

  [[nodiscard]] const tenon_plugin_body& body() const noexcept {
    return *reinterpret_cast<const tenon_plugin_body*>(reinterpret_cast<const std::byte*>(head_) +
                                                       head_->body_offset);
  }

  // Declared first, so that it is destroyed last: backends are closed before the code is unloaded.
  const std::unique_ptr<LoadedLibraries> libraries_;
  const std::string path_;
  PluginRecord record_;
  HostTable host_;
  const tenon_plugin_head* const head_;
  LoadLock load_lock_;  // Guards `opened_`, and is held while a backend is opened.
  std::vector<std::optional<LoadedBackend>> opened_;
};

[[nodiscard]] inline LoadedPlugin& loaded(Plugin& plugin) noexcept {
  return static_cast<LoadedPlugin&>(plugin);
}
[[nodiscard]] inline const LoadedPlugin& loaded(const Plugin& plugin) noexcept {
  return static_cast<const LoadedPlugin&>(plugin);
}

/// Loads the plugin in `file` by the first of `gates` that does, otherwise by its path, unless it
/// is to be what was checked.
[[nodiscard]] inline Result<std::unique_ptr<LoadedLibraries>> load_libraries(
    OpenedFile file, const PluginGates& gates) {
  for (const auto& gate : gates) {
    if (!gate) continue;
    TENON_TRY(auto libraries, gate->load(file, gates));
    if (libraries) return libraries;
  }
  return PathLibrary::load(file);
}

/// `Plugin::load`; no gate replaces the plugin that another one gave in place of it.
[[nodiscard]] inline Result<std::shared_ptr<Plugin>> load(OpenedFile file,
                                                          const PluginRecord* expected,
                                                          HostInfo info, bool is_replacement) {
  TENON_TRY(file, admit(std::move(file), {}, info.gates));
  const std::string path = path_text(file.path);
  TENON_TRY(const PluginRecord in_file, peek(file));
  TENON_RETURN_IF_ERROR(check_abi(in_file).with_context(path));
  if (expected && in_file != *expected) {
    return error(Error::InvalidState, path, ": describes itself differently than when it was ",
                 "found (", in_file.name, " ", in_file.version, " now, ", expected->name, " ",
                 expected->version, " then): it was replaced meanwhile; register it again");
  }
  if (!is_replacement) {
    TENON_TRY(const PluginGate* const isolation,
              find_isolation(in_file, path_text(file.path.filename()), info.gates));
    if (isolation) {
      TENON_TRY(OpenedFile isolated, isolation->replace(std::move(file), in_file, info.gates));
      isolated.is_admitted = true;  // A part of the host, which runs what was admitted.
      return load(std::move(isolated), nullptr, std::move(info), true);
    }
  }
  TENON_TRY(auto libraries, load_libraries(std::move(file), info.gates));
  const void* symbol = libraries->symbol(TENON_PLUGIN_SYMBOL);
  if (!symbol) {
    return error(Error::InvalidArgument, path, ": no exported symbol ", TENON_PLUGIN_SYMBOL,
                 " after loading");
  }
  const auto* head = static_cast<const tenon_plugin_head*>(symbol);
  TENON_TRY(std::shared_ptr<Plugin> plugin,
            LoadedPlugin::create(head, path, std::move(info), std::move(libraries)));
  if (plugin->record() != in_file) {
    return error(Error::InvalidArgument, path,
                 ": the loaded plugin describes itself differently from its file (TN-BIN-3)");
  }
  return plugin;
}

}  // namespace detail

bool unloads_libraries() { return detail::loader_unloads && !detail::keeps_libraries(); }

const std::string& Plugin::path() const noexcept { return detail::loaded(*this).the_path(); }

const PluginRecord& Plugin::record() const noexcept { return detail::loaded(*this).the_record(); }

Result<std::shared_ptr<Plugin>> Plugin::load(const std::filesystem::path& path, HostInfo info) {
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
  if (failed) {
    return error(Error::AccessFailed, "cannot resolve ", path_text(path), ": ", failed.message());
  }
  TENON_TRY(OpenedFile file, open_named_file(absolute));
  return load(std::move(file), nullptr, std::move(info));
}

Result<std::shared_ptr<Plugin>> Plugin::load(OpenedFile file, const PluginRecord* expected,
                                             HostInfo info) {
  return detail::load(std::move(file), expected, std::move(info), false);
}

Result<std::shared_ptr<Plugin>> Plugin::from_static(const tenon_plugin_head* head, HostInfo info) {
  if (!head) return error(Error::InvalidArgument, "static plugin: expected its object, found null");
  const PluginGates gates = info.gates;
  TENON_TRY(std::shared_ptr<Plugin> plugin,
            detail::LoadedPlugin::create(head, "", std::move(info), nullptr));
  TENON_TRY(const PluginGate* const isolation, find_isolation(plugin->record(), {}, gates));
  if (isolation) {
    return error(Error::NotSupported, "static plugin ", plugin->record().name,
                 ": is to run in a process of its own, and is linked into the application");
  }
  return plugin;
}

Result<std::shared_ptr<const LoadedBackend>> Plugin::backend(std::string_view id) {
  detail::LoadedPlugin& self = detail::loaded(*this);
  const std::vector<BackendRecord>& records = self.the_record().backends;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].id == id) return self.open(i);
  }
  const auto id_of = [](const BackendRecord& each) -> const std::string& { return each.id; };
  return error(Error::NotFound, self.name(), ": no backend '", id,
               "'; the plugin has: ", join(records, ", ", id_of));
}

}}}  // namespace tenon::TENON_RELEASE::host
