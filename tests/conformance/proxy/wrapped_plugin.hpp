// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "forgiving_pages.hpp"
#include "kit/boundary/watch.hpp"
#include "proxy_object.hpp"
#include "tenon/abi/plugin.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/trust/impl/library.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"
#include "tenon/host/platform/environment.hpp"
#include "tenon/host/platform/trusted_path.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The plugin behind a proxy, loaded while there are references to it. Any thread.
class WrappedPlugin {
 public:
  /// The plugin that `mine` was made for; loads it unless it is loaded.
  ///
  /// errors: NotSupported when it is missing, cannot be loaded, or has another record than when the
  ///         proxy was made.
  [[nodiscard]] static Result<std::shared_ptr<WrappedPlugin>> get(const ProxyObject& mine) {
    static std::mutex mutex;
    static std::weak_ptr<WrappedPlugin> loaded;
    const std::lock_guard lock(mutex);
    if (auto held = loaded.lock()) return held;
    const std::string path(mine.wrapped_path);
    if (path.empty()) {
      return error(Error::NotSupported,
                   "this file is the template of proxies and wraps no plugin: make a proxy with "
                   "tenon-conformance --make-proxy OUT PLUGIN");
    }
    auto out = load(mine, path);
    if (!out.ok()) {
      return error(Error::NotSupported, "the plugin behind this proxy: ", out.text());
    }
    loaded = *out;
    return out;
  }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The plugin's own table number `index`, or null.
  [[nodiscard]] const tenon_backend_api* table(std::size_t index) const noexcept {
    return index < body_->num_backends ? body_->backends[index] : nullptr;
  }
  [[nodiscard]] const host::PluginRecord& record() const noexcept { return record_; }
  /// The calls into it that are in progress.
  [[nodiscard]] CallsAtOnce& calls() noexcept { return calls_; }

 private:
  WrappedPlugin(std::string path, host::PluginRecord record, host::Library library,
                const tenon_plugin_body* body)
      : path_(std::move(path)),
        record_(std::move(record)),
        library_(std::move(library)),
        body_(body) {
    calls_.on_first = [this] { pages_.install(); };
    calls_.on_last = [this] { pages_.remove(); };
    calls_.next_finding = [this] { return pages_.take(); };
  }

  static Result<std::shared_ptr<WrappedPlugin>> load(const ProxyObject& mine,
                                                     const std::string& path) {
    const auto trust = host::is_privileged() ? host::Trust::checked : host::Trust::caller;
    TENON_TRY(host::OpenedFile file, host::open_file(path, trust));
    TENON_TRY(host::PluginRecord record, host::peek(file));
    TENON_TRY(auto promised, host::read_record(std::as_bytes(std::span(&mine, 1)), "this proxy"));
    // A proxy supports a plugin of a later minor version as far as it knows the boundary itself.
    promised.abi_minor = record.abi_minor = std::min(promised.abi_minor, record.abi_minor);
    if (record != promised) {
      return error(Error::NotSupported, path, ": says ", describe(record),
                   " of itself, this proxy was made when it said ", describe(promised),
                   ": make the proxy again");
    }
    TENON_TRY(host::Library library, host::Library::load(std::move(file)));
    const void* symbol = library.symbol(TENON_PLUGIN_SYMBOL);
    if (!symbol) return error(Error::NotSupported, path, ": has no " TENON_PLUGIN_SYMBOL);
    const auto* head = static_cast<const tenon_plugin_head*>(symbol);
    const auto* body = reinterpret_cast<const tenon_plugin_body*>(
        static_cast<const std::byte*>(symbol) + head->body_offset);
    return std::shared_ptr<WrappedPlugin>(
        new WrappedPlugin(path, std::move(record), std::move(library), body));
  }

  static std::string describe(const host::PluginRecord& record) {
    std::string out = concat(record.name, " ", record.version, " (backends");
    for (const host::BackendRecord& backend : record.backends) out += " " + backend.id;
    return out + ")";
  }

  std::string path_;
  host::PluginRecord record_;
  host::Library library_;
  const tenon_plugin_body* body_;
  ForgivingPages pages_;
  CallsAtOnce calls_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
