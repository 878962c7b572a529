// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "tenon/conformance/case/case.hpp"
#include "tenon/core/result.hpp"

namespace tenon::conformance {

/// Reads the case in `directory`: case.json, or the defaults without one. Checks that the files
/// that it names exist, but not their content.
///
/// threads: any. errors: AccessFailed when the directory or case.json cannot be read,
/// InvalidArgument for all else. Texts name the file, the member, what was expected and what was
/// found.
[[nodiscard]] Result<Case> read_case(const std::filesystem::path& directory);

/// The same with `text` as the content of case.json. `name` begins the text of a failure.
[[nodiscard]] Result<Case> parse_case(std::string_view text, std::string_view name,
                                      const std::filesystem::path& directory);

/// Reads all cases at `place`: the directory of a case, a directory of such directories, or a
/// pattern of glob(7) for either ("cases/float_*"). Sorted by path. Skips directories without a
/// case.
///
/// threads: any. errors: those of `read_case`; NotFound when there is no case at all.
[[nodiscard]] Result<std::vector<Case>> read_cases(const std::filesystem::path& place);

}  // namespace tenon::conformance
