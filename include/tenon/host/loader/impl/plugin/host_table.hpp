// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/abi/host.h"
#include "tenon/abi/private/changes.h"
#include "tenon/core/extensions.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/core/visible.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/plugin/host_info.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "tenon/host/loader/plugin/plugin_gate.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// `set_last_error` of each host table.
inline void keep_last_error(const tenon_host* host, tenon_status status, const char* text,
                            std::uint64_t size) noexcept {
  LastError& last = last_error();
  last.host = host;
  last.status = status;
  try {
    last.text = shortened({text, static_cast<std::size_t>(size)});
  } catch (const std::bad_alloc&) {
    last.text.clear();
  }
}

/// `resize_tensor` of each host table.
inline tenon_status resize(const tenon_host*, tenon_tensor* tensor, const std::int64_t* sizes,
                           std::uint32_t rank) noexcept {
  return to_status(resize_tensor(*tensor, {sizes, rank}));
}

}  // namespace detail

/// The services that one plugin gets (abi/host.h). Its address must not change: the plugin keeps
/// it.
class HostTable {
 public:
  /// `libraries`, null for a plugin that is linked in, must outlive this object.
  HostTable(HostInfo info, std::string plugin_path, const LoadedLibraries* libraries = nullptr)
      : info_(std::move(info)), plugin_path_(std::move(plugin_path)), libraries_(libraries) {
    static_cast<tenon_host&>(table_) = {sizeof(tenon_host),
                                        TENON_ABI_MAJOR,
                                        TENON_ABI_MINOR,
                                        info_.name.c_str(),
                                        plugin_path_.c_str(),
                                        &detail::keep_last_error,
                                        &log,
                                        &detail::resize,
                                        &get_extension};
    table_.owner = this;
  }
  HostTable(const HostTable&) = delete;
  HostTable& operator=(const HostTable&) = delete;

  [[nodiscard]] const tenon_host* get() const noexcept { return &table_; }

  /// `LoadedLibraries::digest` of the plugin whose table `host` is; computed once.
  ///
  /// threads: any. errors: as `digest`; NotSupported for a plugin that is linked in.
  [[nodiscard]] static Result<Sha256> plugin_digest(const tenon_host* host) {
    const HostTable& table = self(host);
    if (!table.libraries_) {
      return error(Error::NotSupported, "a plugin that is linked in has no file to be known by");
    }
    const std::lock_guard lock(table.digest_mutex_);
    if (!table.digest_) {
      TENON_TRY(table.digest_, table.libraries_->digest());
    }
    return *table.digest_;
  }

 private:
  static const HostTable& self(const tenon_host* host) noexcept {
    return *static_cast<const Table*>(host)->owner;
  }

  static void log(const tenon_host* host, std::int32_t level, const char* text,
                  std::uint64_t size) noexcept {
    const HostTable& table = self(host);
    if (!table.info_.log) return;
    try {
      std::string_view line(text, static_cast<std::size_t>(size));
      while (line.ends_with('\n')) line.remove_suffix(1);
      table.info_.log(level, table.plugin_path_, tenon::detail::visible(std::string(line)));
    } catch (...) {
      // A sink that throws must not take the plugin's stack down; the line is dropped.
    }
  }

  static const void* get_extension(const tenon_host* host, const char* id) noexcept {
    const std::string_view asked = id ? id : "";
    const HostInfo& info = self(host).info_;
    if (asked == library_policy_id) return has_policy(info.gates) ? &info.gates : nullptr;
    if (asked == TENON_EXTENSION_CHANGES) return &detail::changes_table();
    return find_table(info.extensions, asked);
  }

  struct Table : tenon_host {
    const HostTable* owner = nullptr;
  };

  HostInfo info_;
  std::string plugin_path_;
  const LoadedLibraries* libraries_;
  mutable std::mutex digest_mutex_;
  mutable std::optional<Sha256> digest_;
  Table table_;
};

}}}  // namespace tenon::TENON_RELEASE::host
