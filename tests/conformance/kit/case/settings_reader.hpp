// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/conformance/case.hpp"
#include "tenon/core/json.hpp"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"

/// The common parts of case.json and subject files: tolerances, options, paths.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance::detail {

/// Largest case.json or subject file that is read, in bytes.
inline constexpr std::uint64_t max_settings_size = 4 << 20;

/// The content of a settings file. AccessFailed when it cannot be read.
[[nodiscard]] Result<std::string> read_settings(const std::filesystem::path& path);

/// A text that can be shown, with at least one character that is not a blank.
[[nodiscard]] Result<std::string> read_words(const JsonAt& at);

/// A path, relative to `directory`; absolute ones are rejected, since they would name another
/// file on another machine.
[[nodiscard]] Result<std::filesystem::path> read_path(const JsonAt& at,
                                                      const std::filesystem::path& directory);

/// The path of an existing file.
[[nodiscard]] Result<std::filesystem::path> read_file_path(const JsonAt& at,
                                                           const std::filesystem::path& directory);

/// {"float32": {"nmse": 1e-6, "max": 1e-4}, ...}
[[nodiscard]] Result<Tolerances> read_tolerances(const JsonAt& at);

/// {"key": true, "other": 3, "text": "x", "raw": {"bytes": "00ff"}}. A number with a point or an
/// exponent is a double.
[[nodiscard]] Result<std::vector<std::pair<std::string, OptionValue>>> read_options(
    const JsonAt& at);

}}}  // namespace tenon::TENON_RELEASE::conformance::detail
