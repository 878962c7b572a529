// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/backend.hpp"
#include "tenon/host/backend_ref.hpp"
#include "tenon/host/id_table.hpp"
#include "tenon/host/peek.hpp"
#include "tenon/host/plugin.hpp"

namespace tenon::host {

/// Finds backends by the id that programs name. Two tables, as in TorchDynamo's registry
/// (torch/_dynamo/backends/registry.py): a plugin that was added is known, by its record alone; it
/// is loaded when one of its backends is looked up for the first time.
///
/// The registry keeps no plugin loaded by itself: a plugin is unloaded when the last holder of one
/// of its backends (an application, a method) lets go, and loaded again at the next look-up. There
/// is no limit on the number of backends. Any thread.
class BackendRegistry {
 public:
  explicit BackendRegistry(HostInfo info = {}) : info_(std::move(info)) {}
  BackendRegistry(const BackendRegistry&) = delete;
  BackendRegistry& operator=(const BackendRegistry&) = delete;

  /// Makes the backends of a plugin file known. The file is read, not loaded. Fails as `peek` does,
  /// with NotSupported for an ABI that does not fit, and with RegistrationAlreadyRegistered when an
  /// id is known already, naming both origins; nothing is added then.
  [[nodiscard]] Status add_plugin_file(const std::filesystem::path& path) {
    std::error_code failed;
    const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
    if (failed) {
      return error(Error::AccessFailed, "cannot resolve ", path.string(), ": ", failed.message());
    }
    TENON_TRY(PluginRecord record, peek(absolute));
    TENON_CHECK(check_abi(record).with_context(absolute.string()));
    return add({absolute, nullptr, std::move(record), {}});
  }

  /// Makes the backends of a plugin known that is linked into the application
  /// (`registry.add_static_plugin(tenon_static_plugin_Add)`). Fails as `add_plugin_file` does.
  [[nodiscard]] Status add_static_plugin(const tenon_plugin_head* head) {
    TENON_TRY(const auto plugin, Plugin::from_static(head, info_));
    return add({{}, head, plugin->record(), {}});
  }

  /// The backend with `id`, loaded and opened if it is not yet. NotFound for an unknown id, with
  /// the ids that are known; otherwise what loading the plugin failed with. The registry must
  /// outlive what it returns.
  [[nodiscard]] Result<BackendRef> lookup_backend(std::string_view id) const {
    Known* known = table_.find(id);
    if (!known) return refuse(id);
    if (!known->slot.try_acquire()) [[unlikely]] {
      TENON_CHECK(known->slot.acquire([&]() -> Result<std::shared_ptr<const Backend>> {
        TENON_TRY(const auto plugin, load(*known->source));
        return plugin->backend(id);
      }));
    }
    return BackendRef(&known->slot);
  }

  /// Whether `id` is known; loads nothing.
  [[nodiscard]] bool contains(std::string_view id) const noexcept {
    return table_.find(id) != nullptr;
  }

  /// All known ids, sorted; loads nothing.
  [[nodiscard]] std::vector<std::string> list_backends() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> ids;
    for (const Known& known : known_) ids.emplace_back(known.id());
    std::ranges::sort(ids);
    return ids;
  }

 private:
  /// Where a plugin comes from.
  struct Source {
    std::filesystem::path path;
    const tenon_plugin_head* head;  ///< Of a plugin that is linked in; else null.
    PluginRecord record;
    std::weak_ptr<Plugin> loaded;

    [[nodiscard]] std::string origin() const { return head ? "static plugin" : path.string(); }
  };

  struct Known {
    Known(Source* plugin, std::string_view name)
        : id_size(static_cast<std::uint8_t>(name.size())), source(plugin) {
      name.copy(id_text, sizeof id_text);
    }
    [[nodiscard]] std::string_view id() const noexcept { return {id_text, id_size}; }

    // The id stands here and not behind a pointer, so that comparing it touches one cache line.
    char id_text[TENON_ID_SIZE] = {};
    std::uint8_t id_size;
    detail::BackendSlot slot;
    Source* source;
  };

  Status add(Source source) {
    const std::lock_guard lock(mutex_);
    for (const BackendRecord& record : source.record.backends) {
      if (const Known* known = table_.find(record.id)) {
        return error(Error::RegistrationAlreadyRegistered, "backend '", record.id, "' of ",
                     source.origin(), " is registered already, by ", known->source->origin());
      }
    }
    sources_.push_back(std::move(source));
    for (const BackendRecord& record : sources_.back().record.backends) {
      table_.insert(&known_.emplace_back(&sources_.back(), record.id));
    }
    return ok();
  }

  Result<std::shared_ptr<Plugin>> load(Source& source) const {
    const std::lock_guard lock(mutex_);
    if (auto plugin = source.loaded.lock()) return plugin;
    auto plugin =
        source.head ? Plugin::from_static(source.head, info_) : Plugin::load(source.path, info_);
    if (plugin.ok()) source.loaded = *plugin;
    return plugin;
  }

  [[nodiscard]] Status refuse(std::string_view id) const {
    std::string known;
    for (const std::string& other : list_backends()) {
      known += concat(known.empty() ? "" : ", ", other);
    }
    return error(Error::NotFound, "backend '", id, "' is not registered; registered are: ",
                 known.empty() ? std::string_view("none") : std::string_view(known));
  }

  HostInfo info_;
  mutable std::mutex mutex_;  // Guards sources_, known_ and writing to table_.
  std::deque<Source> sources_;
  std::deque<Known> known_;
  detail::IdTable<Known> table_;
};

}  // namespace tenon::host
