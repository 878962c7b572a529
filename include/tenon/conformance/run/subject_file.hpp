// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string_view>

#include "tenon/conformance/run/subject.hpp"
#include "tenon/core/result.hpp"

namespace tenon::conformance {

/// Reads a subject file and the cases that it names.
///
/// threads: any. errors: AccessFailed when the file cannot be read; InvalidArgument when it does
/// not conform to docs/schemas/tenon-subject.schema.json or names files that do not exist; those of
/// `read_cases`. Texts name the file, the member, what was expected and what was found.
[[nodiscard]] Result<Subject> read_subject(const std::filesystem::path& path);

/// The same with `text` as the content of a file in `directory`. `name` begins the text of a
/// failure.
[[nodiscard]] Result<Subject> parse_subject(std::string_view text, std::string_view name,
                                            const std::filesystem::path& directory);

}  // namespace tenon::conformance
