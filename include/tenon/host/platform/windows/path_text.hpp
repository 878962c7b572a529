// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Between the paths of a variable.
inline constexpr char path_separator = ';';

/// Describes an absolute path in errors about a relative one.
inline constexpr std::string_view absolute_path = "a path that begins with a drive letter";

/// The path as text. Texts are UTF-8 everywhere; Windows has paths in UTF-16. What is no UTF-16
/// becomes U+FFFD.
[[nodiscard]] inline std::string path_text(const std::filesystem::path& path) {
  return platform::to_utf8(path.c_str(), static_cast<int>(path.native().size()));
}

/// The path that a UTF-8 text names. What is no UTF-8 becomes U+FFFD.
[[nodiscard]] inline std::filesystem::path path_of(std::string_view text) {
  // No path is longer: the system takes 32767 characters.
  const auto size = static_cast<int>(std::min<std::size_t>(text.size(), 1 << 20));
  const int length = ::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, nullptr, 0);
  std::wstring wide(static_cast<std::size_t>(length), L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, wide.data(), length);
  return wide;
}

}}}  // namespace tenon::TENON_RELEASE::host
