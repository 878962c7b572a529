// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/plugin/plugin.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/host/binary/peek.hpp"
#include "tenon/host/impl/plugin/host_table.hpp"
#include "tenon/host/impl/plugin/library.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/plugin/load_lock.hpp"

namespace tenon::host {

struct Plugin::State {
  State(const tenon_plugin_head* plugin, std::string file, HostInfo info,
        std::optional<Library> loaded)
      : library(std::move(loaded)),
        path(std::move(file)),
        host(std::move(info), path),
        head(plugin) {}

  [[nodiscard]] const tenon_plugin_body& body() const noexcept {
    return *reinterpret_cast<const tenon_plugin_body*>(reinterpret_cast<const std::byte*>(head) +
                                                       head->body_offset);
  }

  // Declared first, so that it is destroyed last: backends are closed before the code is unloaded.
  std::optional<Library> library;
  std::string path;
  PluginRecord record;
  HostTable host;
  const tenon_plugin_head* head;
  detail::LoadLock load_lock;  // Guards `opened`, and is held while a backend is opened.
  std::vector<std::optional<LoadedBackend>> opened;
};

bool unloads_libraries() { return detail::loader_unloads && !detail::keeps_libraries(); }

Plugin::Plugin(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

Plugin::~Plugin() = default;

const std::string& Plugin::path() const noexcept { return state_->path; }

const PluginRecord& Plugin::record() const noexcept { return state_->record; }

Result<std::shared_ptr<Plugin>> Plugin::load(const std::filesystem::path& path, HostInfo info) {
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
  if (failed) {
    return error(Error::AccessFailed, "cannot resolve ", path_text(path), ": ", failed.message());
  }
  TENON_TRY(OpenedFile file, open_file(absolute, Trust::caller));
  return load(std::move(file), nullptr, std::move(info));
}

Result<std::shared_ptr<Plugin>> Plugin::load(OpenedFile file, const PluginRecord* expected,
                                             HostInfo info) {
  const std::string path = path_text(file.path);
  // Of one reading of the file: the record, and what it needs, which counts after the record.
  Result<Library::Needs> needs = Library::Needs();
  TENON_TRY(const PluginRecord in_file, with_bytes(file, [&](std::span<const std::byte> bytes) {
              auto record = peek(bytes, path);
              if (record.ok()) needs = Library::read_needs(bytes);
              return record;
            }));
  TENON_RETURN_IF_ERROR(check_abi(in_file).with_context(path));
  if (expected && in_file != *expected) {
    return error(Error::InvalidState, path, ": describes itself differently than when it was ",
                 "found (", in_file.name, " ", in_file.version, " now, ", expected->name, " ",
                 expected->version, " then): it was replaced meanwhile; register it again");
  }
  TENON_RETURN_IF_ERROR(needs);
  TENON_TRY(Library library, Library::load(std::move(file), *needs));
  const void* symbol = library.symbol(TENON_PLUGIN_SYMBOL);
  if (!symbol) {
    return error(Error::InvalidArgument, path, ": no exported symbol ", TENON_PLUGIN_SYMBOL,
                 " after loading");
  }
  const auto* head = static_cast<const tenon_plugin_head*>(symbol);
  TENON_TRY(auto plugin,
            make(std::make_unique<State>(head, path, std::move(info), std::move(library))));
  if (plugin->record() != in_file) {
    return error(Error::InvalidArgument, path,
                 ": the loaded plugin describes itself differently from its file (TN-BIN-3)");
  }
  return plugin;
}

Result<std::shared_ptr<Plugin>> Plugin::from_static(const tenon_plugin_head* head, HostInfo info) {
  if (!head) return error(Error::InvalidArgument, "static plugin: expected its object, found null");
  return make(std::make_unique<State>(head, "", std::move(info), std::nullopt));
}

Result<std::shared_ptr<const LoadedBackend>> Plugin::backend(std::string_view id) {
  const std::vector<BackendRecord>& records = record().backends;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].id == id) return open(i);
  }
  const auto id_of = [](const BackendRecord& each) -> const std::string& { return each.id; };
  return error(Error::NotFound, name(), ": no backend '", id,
               "'; the plugin has: ", join(records, ", ", id_of));
}

std::string_view Plugin::name() const noexcept {
  return path().empty() ? std::string_view(record().name) : std::string_view(path());
}

Result<std::shared_ptr<Plugin>> Plugin::make(std::unique_ptr<State> state) {
  const tenon_plugin_head* head = state->head;
  const std::string where = state->path.empty() ? "static plugin" : state->path;
  const std::span object(reinterpret_cast<const std::byte*>(head), head->object_size);
  TENON_TRY(state->record, read_record(object, where));
  TENON_RETURN_IF_ERROR(check_abi(state->record).with_context(where));
  const tenon_plugin_body& body = state->body();
  if (!TENON_HAS_MEMBER(body, backends) || body.backends == nullptr ||
      body.num_backends != head->num_backends) {
    return error(Error::InvalidArgument, where, ": the plugin's body has ", body.struct_size,
                 " bytes and ", body.num_backends, " backends, expected at least ",
                 sizeof(tenon_plugin_body), " bytes and ", head->num_backends, " backends");
  }
  state->opened.resize(state->record.backends.size());
  return std::shared_ptr<Plugin>(new Plugin(std::move(state)));
}

Result<std::shared_ptr<const LoadedBackend>> Plugin::open(std::size_t index) {
  const detail::ScopedLoadLock load_lock(state_->load_lock);
  if (!load_lock) {
    return error(Error::InvalidState, name(), ": backend ", record().backends[index].id,
                 " is opened by what opens a backend of this plugin, which would wait for itself");
  }
  std::optional<LoadedBackend>& slot = state_->opened[index];
  if (!slot) {
    const tenon_backend_api* api = state_->body().backends[index];
    const BackendRecord& record = state_->record.backends[index];
    if (!api) {
      return error(Error::InvalidArgument, name(), ": backend ", record.id,
                   " has no function table");
    }
    auto backend = LoadedBackend::open(record, state_->host.get(), *api);
    if (!backend.ok()) return std::move(backend).status().with_context(name());
    slot.emplace(*std::move(backend));
  }
  return std::shared_ptr<const LoadedBackend>(shared_from_this(), &*slot);
}

}  // namespace tenon::host
