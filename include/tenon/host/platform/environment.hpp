// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#if defined(_WIN32)
#include "tenon/host/platform/windows/environment.hpp"
#else
#include "tenon/host/platform/posix/environment.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The value of an environment variable; nothing when it is not set, and for every variable in a
/// privileged process (`is_privileged`). As `getenv`, not to be called while another thread changes
/// the environment.
[[nodiscard]] inline std::optional<std::string> environment_variable(const char* name) {
  if (is_privileged()) return std::nullopt;
  return platform::variable(name);
}

}}}  // namespace tenon::TENON_RELEASE::host
