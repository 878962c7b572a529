// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/abi/plugin.h"
#include "tenon/conformance/boundary_calls.hpp"
#include "tenon/conformance/context.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/backend.hpp"
#include "tenon/host/backend_ref.hpp"
#include "tenon/host/host_table.hpp"
#include "tenon/host/library.hpp"
#include "tenon/host/peek.hpp"
#include "tenon/host/plugin_record.hpp"
#include "tenon/host/trusted_path.hpp"

namespace tenon::conformance {

/// The plugin's library in this process, without any of its functions called.
class LoadedPlugin {
 public:
  /// Loads the file as a host does, but for the negotiation of versions.
  ///
  /// errors: those of `host::peek` and `host::Library::load`, and InvalidArgument when the loaded
  ///         object is not the one in the file.
  [[nodiscard]] static Result<LoadedPlugin> load(const std::filesystem::path& path) {
    TENON_TRY(host::OpenedFile file,
              host::open_file(std::filesystem::absolute(path), host::Trust::caller));
    TENON_TRY(host::PluginRecord record, host::peek(file));
    TENON_TRY(host::Library library, host::Library::load(std::move(file)));
    const void* symbol = library.symbol(TENON_PLUGIN_SYMBOL);
    if (!symbol) return error(Error::InvalidArgument, path.native(), ": no " TENON_PLUGIN_SYMBOL);
    const auto* head = static_cast<const tenon_plugin_head*>(symbol);
    return LoadedPlugin(std::move(library), std::move(record), head);
  }

  /// What the file says.
  [[nodiscard]] const host::PluginRecord& record() const noexcept { return record_; }
  /// What is in memory.
  [[nodiscard]] const tenon_plugin_head& head() const noexcept { return *head_; }
  [[nodiscard]] const tenon_plugin_body& body() const noexcept {
    return *reinterpret_cast<const tenon_plugin_body*>(reinterpret_cast<const std::byte*>(head_) +
                                                       head_->body_offset);
  }

  /// The table of backend `id` and its place in the record, or null.
  [[nodiscard]] const tenon_backend_api* table(std::string_view id) const noexcept {
    for (std::size_t i = 0; i < record_.backends.size() && i < body().num_backends; ++i) {
      if (record_.backends[i].id == id) return body().backends[i];
    }
    return nullptr;
  }
  [[nodiscard]] const host::BackendRecord* backend_record(std::string_view id) const noexcept {
    for (const host::BackendRecord& one : record_.backends) {
      if (one.id == id) return &one;
    }
    return nullptr;
  }

 private:
  LoadedPlugin(host::Library library, host::PluginRecord record, const tenon_plugin_head* head)
      : library_(std::move(library)), record_(std::move(record)), head_(head) {}

  host::Library library_;
  host::PluginRecord record_;
  const tenon_plugin_head* head_;
};

/// One backend of the subject, opened by a host behind a `Boundary`, with the options that the
/// subject file gives it. Closed, and the plugin unloaded, when this goes.
class OpenedBackend {
 public:
  /// Opens the backend that `kit` is about. Ends the test as `blocked` when the plugin cannot be
  /// loaded or opened.
  explicit OpenedBackend(Context& kit, const HostShape& shape = {})
      : OpenedBackend(kit, shape, Attempt{}) {
    if (!opened_.ok()) kit.blocked("the backend cannot be opened: ", opened_.text());
    for (const auto& [key, value] : kit.backend().options) {
      kit.need(backend_->set_option(key, value), "an option of the subject file");
    }
  }

  /// What `open` answers to a host of that shape; the backend is closed again. Ends the test as
  /// `blocked` when it does not come to `open`.
  [[nodiscard]] static Status try_open(Context& kit, const HostShape& shape) {
    return std::move(OpenedBackend(kit, shape, Attempt{}).opened_);
  }

  [[nodiscard]] Boundary& boundary() noexcept { return *boundary_; }
  /// Of the plugin's own: its table and what its `open` gave.
  [[nodiscard]] const tenon_backend_api& api() const noexcept { return boundary_->theirs(); }
  [[nodiscard]] tenon_backend* raw() const noexcept { return boundary_->opened(); }
  [[nodiscard]] const host::Backend& backend() const noexcept { return *backend_; }
  [[nodiscard]] host::BackendRef ref() const { return host::BackendRef(backend_); }
  [[nodiscard]] const LoadedPlugin& plugin() const noexcept { return plugin_; }
  [[nodiscard]] const tenon_host* host() const noexcept { return host_.get(); }

 private:
  struct Attempt {};
  OpenedBackend(Context& kit, const HostShape& shape, Attempt)
      : plugin_(kit.need(LoadedPlugin::load(kit.plugin()), "the plugin cannot be loaded")),
        host_(host_info(), kit.plugin().native()) {
    const std::string& id = kit.backend().id;
    const tenon_backend_api* table = plugin_.table(id);
    if (!table) kit.blocked("the plugin has no table for backend ", id);
    auto complete = host::complete_api(*table, id);
    if (!complete.ok()) kit.blocked(complete.text());
    boundary_ = std::make_unique<Boundary>(*complete, id, kit.crumbs(), kit.on_finding());
    boundary_->shape = shape;
    boundary_->watch().watch_streams(kit.options().own_process);
    auto opened = host::Backend::open(*plugin_.backend_record(id), host_.get(), boundary_->api());
    if (opened.ok()) {
      backend_ = std::make_shared<const host::Backend>(*std::move(opened));
    } else {
      opened_ = std::move(opened).status();
    }
  }

  static host::HostInfo host_info() {
    host::HostInfo info;
    info.name = "tenon-conformance " TENON_VERSION_STRING;
    return info;
  }

  LoadedPlugin plugin_;
  host::HostTable host_;
  std::unique_ptr<Boundary> boundary_;
  std::shared_ptr<const host::Backend> backend_;  // Null when it was not opened.
  Status opened_;
};

}  // namespace tenon::conformance
