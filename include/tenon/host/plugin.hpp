// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/host/backend.hpp"
#include "tenon/host/host_table.hpp"
#include "tenon/host/library.hpp"
#include "tenon/host/peek.hpp"
#include "tenon/host/plugin_record.hpp"
#include "tenon/host/trusted_path.hpp"

namespace tenon::host {

/// A plugin in this process: loaded from a file, or linked into the application.
///
/// Held by shared pointers. Each backend got from it keeps it alive, and so does each method that
/// uses one; when the last of them goes, its backends are closed and the library is unloaded. Any
/// thread.
class Plugin : public std::enable_shared_from_this<Plugin> {
 public:
  /// Loads the plugin in `path`, for which the caller answers (`Trust::caller`).
  [[nodiscard]] static Result<std::shared_ptr<Plugin>> load(const std::filesystem::path& path,
                                                            HostInfo info = {}) {
    std::error_code failed;
    const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
    if (failed) {
      return error(Error::AccessFailed, "cannot resolve ", path.string(), ": ", failed.message());
    }
    TENON_TRY(OpenedFile file, open_file(absolute, Trust::caller));
    return load(std::move(file), nullptr, std::move(info));
  }

  /// Loads the plugin in an open file. The record is read from the file first and the versions are
  /// negotiated, so that a plugin that does not fit is never loaded; what the loaded object says
  /// must then equal what the file said. No code of the plugin runs before `backend`.
  ///
  /// `expected`, when it is not null, is what the plugin said of itself when it was chosen;
  /// InvalidState when it says something else by now.
  [[nodiscard]] static Result<std::shared_ptr<Plugin>> load(OpenedFile file,
                                                            const PluginRecord* expected,
                                                            HostInfo info = {}) {
    const std::string path = file.path.native();
    TENON_TRY(const PluginRecord in_file, peek(file));
    TENON_CHECK(check_abi(in_file).with_context(path));
    if (expected && in_file != *expected) {
      return error(Error::InvalidState, path, ": describes itself differently than when it was ",
                   "found (", in_file.name, " ", in_file.version, " now, ", expected->name, " ",
                   expected->version, " then): it was replaced meanwhile; register it again");
    }
    TENON_TRY(Library library, Library::load(std::move(file)));
    const void* symbol = library.symbol(TENON_PLUGIN_SYMBOL);
    if (!symbol) {
      return error(Error::InvalidArgument, path, ": no exported symbol ", TENON_PLUGIN_SYMBOL,
                   " after loading");
    }
    const auto* head = static_cast<const tenon_plugin_head*>(symbol);
    TENON_TRY(auto plugin, make(head, path, std::move(info), std::move(library)));
    if (plugin->record() != in_file) {
      return error(Error::InvalidArgument, path,
                   ": the loaded plugin describes itself differently from its file (TN-BIN-3)");
    }
    return plugin;
  }

  /// Takes a plugin that is linked into the application (TENON_DECLARE_STATIC_PLUGIN).
  [[nodiscard]] static Result<std::shared_ptr<Plugin>> from_static(const tenon_plugin_head* head,
                                                                   HostInfo info = {}) {
    if (!head)
      return error(Error::InvalidArgument, "static plugin: expected its object, found null");
    return make(head, "", std::move(info), std::nullopt);
  }

  /// Absolute path of the file; empty for a plugin that is linked in.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const PluginRecord& record() const noexcept { return record_; }

  /// The backend with `id`, opened at its first use, once. NotFound names the ids there are.
  [[nodiscard]] Result<std::shared_ptr<const Backend>> backend(std::string_view id) {
    for (std::size_t i = 0; i < record_.backends.size(); ++i) {
      if (record_.backends[i].id == id) return open(i);
    }
    std::string known;
    for (const BackendRecord& record : record_.backends) {
      known += concat(known.empty() ? "" : ", ", record.id);
    }
    return error(Error::NotFound, name(), ": no backend '", id, "'; the plugin has: ", known);
  }

 private:
  Plugin(const tenon_plugin_head* head, std::string path, HostInfo info, PluginRecord record,
         std::optional<Library> library)
      : library_(std::move(library)),
        path_(std::move(path)),
        record_(std::move(record)),
        host_(std::move(info), path_),
        head_(head),
        opened_(record_.backends.size()) {}

  [[nodiscard]] std::string_view name() const noexcept {
    return path_.empty() ? std::string_view(record_.name) : std::string_view(path_);
  }

  static Result<std::shared_ptr<Plugin>> make(const tenon_plugin_head* head, std::string path,
                                              HostInfo info, std::optional<Library> library) {
    const std::string where = path.empty() ? "static plugin" : path;
    const std::span object(reinterpret_cast<const std::byte*>(head), head->object_size);
    TENON_TRY(PluginRecord record, read_record(object, where));
    TENON_CHECK(check_abi(record).with_context(where));
    std::shared_ptr<Plugin> plugin(
        new Plugin(head, std::move(path), std::move(info), std::move(record), std::move(library)));
    const tenon_plugin_body& body = plugin->body();
    if (!TENON_HAS_MEMBER(body, backends) || body.backends == nullptr ||
        body.num_backends != head->num_backends) {
      return error(Error::InvalidArgument, where, ": the plugin's body has ", body.struct_size,
                   " bytes and ", body.num_backends, " backends, expected at least ",
                   sizeof(tenon_plugin_body), " bytes and ", head->num_backends, " backends");
    }
    return plugin;
  }

  [[nodiscard]] const tenon_plugin_body& body() const noexcept {
    return *reinterpret_cast<const tenon_plugin_body*>(reinterpret_cast<const std::byte*>(head_) +
                                                       head_->body_offset);
  }

  Result<std::shared_ptr<const Backend>> open(std::size_t index) {
    const std::lock_guard lock(mutex_);
    std::optional<Backend>& slot = opened_[index];
    if (!slot) {
      const tenon_backend_api* api = body().backends[index];
      if (!api) {
        return error(Error::InvalidArgument, name(), ": backend ", record_.backends[index].id,
                     " has no function table");
      }
      auto backend = Backend::open(record_.backends[index], host_.get(), *api);
      if (!backend.ok()) return std::move(backend).status().with_context(name());
      slot.emplace(*std::move(backend));
    }
    return std::shared_ptr<const Backend>(shared_from_this(), &*slot);
  }

  // Declared first, so that it is destroyed last: backends are closed before the code goes.
  std::optional<Library> library_;
  std::string path_;
  PluginRecord record_;
  HostTable host_;
  const tenon_plugin_head* head_;
  std::mutex mutex_;
  std::vector<std::optional<Backend>> opened_;
};

}  // namespace tenon::host
