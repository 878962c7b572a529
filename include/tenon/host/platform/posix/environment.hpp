// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include <cstdlib>
#include <optional>
#include <string>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Whether the process has more rights than the user who started it: setuid, setgid, or file
/// capabilities. Variables must not choose the code that such a process loads.
///
/// Linux: AT_SECURE, which the kernel sets and glibc's `secure_getenv` asks; macOS and BSD:
/// `issetugid`.
[[nodiscard]] inline bool is_privileged() noexcept {
#if defined(__linux__)
  return ::getauxval(AT_SECURE) != 0;
#else
  return ::issetugid() != 0;
#endif
}

namespace platform {

/// The value of an environment variable; nothing when it is not set.
[[nodiscard]] inline std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace platform
}}}  // namespace tenon::TENON_RELEASE::host
