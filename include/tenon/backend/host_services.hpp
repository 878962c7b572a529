// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tenon/abi/host.h"
#include "tenon/core/extensions.hpp"
#include "tenon/core/status.hpp"
#include "tenon/core/struct_size.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Level of a log line (the order of ExecuTorch's LogLevel).
enum class LogLevel : std::int32_t {
  Debug = TENON_LOG_DEBUG,
  Info = TENON_LOG_INFO,
  Error = TENON_LOG_ERROR,
  Fatal = TENON_LOG_FATAL,
};

/// The host's services for a backend. Valid from `open` to `close`; every function may be called
/// from any thread.
class HostServices {
 public:
  HostServices() noexcept = default;
  explicit HostServices(const tenon_host* host) noexcept : host_(host) {}

  /// Name of the application, for logs.
  [[nodiscard]] std::string_view name() const noexcept { return host_->name; }

  /// Absolute path of the plugin's own file, to find data in its directory; empty when the plugin
  /// is linked into the application.
  [[nodiscard]] std::string_view plugin_path() const noexcept { return host_->plugin_path; }

  /// Whether the application admits libraries by a policy. Then the plugin loads no library from
  /// its directory: the application has checked none there but those that the plugin links.
  [[nodiscard]] bool has_library_policy() const noexcept {
    return extension<void>(library_policy_id) != nullptr;
  }

  template <class... Pieces>
  void log(LogLevel level, const Pieces&... pieces) const {
    const std::string line = concat(pieces...);
    host_->log(host_, static_cast<std::int32_t>(level), line.data(), line.size());
  }

  /// The table of an extension of the host, or null when the host does not have it.
  template <class Table>
  [[nodiscard]] const Table* extension(const char* id) const noexcept {
    return static_cast<const Table*>(host_->get_extension(host_, id));
  }

  [[nodiscard]] const tenon_host* raw() const noexcept { return host_; }

 private:
  const tenon_host* host_ = nullptr;
};

}}  // namespace tenon::TENON_RELEASE
