// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tenon::host {

#if defined(_WIN32)
/// Between the paths of a variable.
inline constexpr char path_separator = ';';

/// For messages about a path that is none.
inline constexpr std::string_view absolute_path = "one that begins with a drive letter";

/// The path as text. Texts are UTF-8 everywhere; Windows has paths in UTF-16.
[[nodiscard]] inline std::string path_text(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

/// The path that a UTF-8 text names.
[[nodiscard]] inline std::filesystem::path path_of(std::string_view text) {
  return {std::u8string_view(reinterpret_cast<const char8_t*>(text.data()), text.size())};
}
#else
inline constexpr char path_separator = ':';
inline constexpr std::string_view absolute_path = "one that begins with /";

/// The path as text: its bytes, which are UTF-8 on today's systems.
[[nodiscard]] inline const std::string& path_text(const std::filesystem::path& path) noexcept {
  return path.native();
}

/// The path that a text names.
[[nodiscard]] inline std::filesystem::path path_of(std::string_view text) { return {text}; }
#endif

}  // namespace tenon::host
