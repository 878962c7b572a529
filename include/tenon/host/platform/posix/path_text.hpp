// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Between the paths of a variable.
inline constexpr char path_separator = ':';

/// Describes an absolute path in errors about a relative one.
inline constexpr std::string_view absolute_path = "a path that begins with /";

/// The path as text: its bytes, which are UTF-8 on today's systems.
[[nodiscard]] inline const std::string& path_text(const std::filesystem::path& path) noexcept {
  return path.native();
}

/// The path that a text names.
[[nodiscard]] inline std::filesystem::path path_of(std::string_view text) { return {text}; }

}}}  // namespace tenon::TENON_RELEASE::host
