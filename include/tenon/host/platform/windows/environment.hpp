// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Whether the process has more rights than the user who started it: it was elevated by User
/// Account Control (TokenElevationTypeFull). Variables must not choose the code that it loads.
[[nodiscard]] inline bool is_privileged() noexcept {
  ::HANDLE opened = nullptr;
  if (!::OpenProcessToken(::GetCurrentProcess(), TOKEN_QUERY, &opened)) return true;
  const platform::Handle token(opened);
  ::TOKEN_ELEVATION_TYPE type = TokenElevationTypeDefault;
  ::DWORD size = 0;
  return !::GetTokenInformation(opened, TokenElevationType, &type, sizeof type, &size) ||
         type == TokenElevationTypeFull;
}

namespace platform {

/// The value of an environment variable in UTF-8; nothing when it is not set.
[[nodiscard]] inline std::optional<std::string> variable(const char* name) {
  const std::wstring wide(name, name + std::char_traits<char>::length(name));
  std::wstring value(64, L'\0');
  for (;;) {
    ::SetLastError(ERROR_SUCCESS);
    const auto size = static_cast<::DWORD>(value.size());
    const ::DWORD length = ::GetEnvironmentVariableW(wide.c_str(), value.data(), size);
    if (length == 0 && ::GetLastError() != ERROR_SUCCESS) return std::nullopt;
    value.resize(length);
    // Without the room it returns the size with the NUL, otherwise the length without it.
    if (length < size) return to_utf8(value.data(), static_cast<int>(length));
  }
}

}  // namespace platform
}}}  // namespace tenon::TENON_RELEASE::host
