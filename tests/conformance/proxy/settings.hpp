// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/host/platform/environment.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The settings of a proxy, from environment variables. All are ignored in a privileged process.
struct ProxySettings {
  bool fast = false;      ///< TENON_PROXY_FAST: no comparisons and no guarded copies.
  bool strict = false;    ///< TENON_PROXY_STRICT: a broken rule makes `init` and `execute` fail.
  std::string report;     ///< TENON_PROXY_REPORT: a file for findings; empty for none.
  std::string recording;  ///< TENON_PROXY_RECORD: a directory for cases; empty for none.
  std::uint32_t recorded_runs = 4;  ///< TENON_PROXY_RECORD_RUNS: of each delegate, at least 1.

  [[nodiscard]] static ProxySettings of_environment() {
    const auto text = [](const char* name) {
      return host::environment_variable(name).value_or(std::string());
    };
    const auto is_on = [&](const char* name) {
      const std::string value = text(name);
      return !value.empty() && value != "0";
    };
    ProxySettings out;
    out.fast = is_on("TENON_PROXY_FAST");
    out.strict = is_on("TENON_PROXY_STRICT");
    out.report = text("TENON_PROXY_REPORT");
    out.recording = text("TENON_PROXY_RECORD");
    const std::string runs = text("TENON_PROXY_RECORD_RUNS");
    std::uint32_t number = 0;
    const auto read = std::from_chars(runs.data(), runs.data() + runs.size(), number);
    if (read.ec == std::errc() && read.ptr == runs.data() + runs.size() && number != 0) {
      out.recorded_runs = number;
    }
    return out;
  }
};

}}}  // namespace tenon::TENON_RELEASE::conformance
