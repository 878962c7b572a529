// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kit/report/options.hpp"
#include "tenon/conformance/result.hpp"

/// Reports for a terminal.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// "[ 37/212] arguments/leaves-inputs-unchanged/ZooBackend/add ... failed (TN-EXE-2)":
/// one line of progress, without a line feed. `number` counts from 1.
[[nodiscard]] std::string progress_line(std::size_t number, std::size_t total,
                                        const TestResult& test, bool color,
                                        const ReportOptions& options = {});

/// `report` for a terminal: each broken rule once with its findings, then the number of tests with
/// each outcome, and in the last line the verdict. `verbose` adds all findings, calls and frames,
/// the output of failing tests, and the reasons why tests did not run.
[[nodiscard]] std::string to_text(const Report& report, bool color, bool verbose,
                                  const ReportOptions& options = {});

namespace detail {

/// The meaning of a piece of text, shown as a colour. Nothing is said by colour alone.
enum class TextStyle { plain, title, good, bad, odd, weak };

[[nodiscard]] std::string styled(std::string_view text, TextStyle style, bool color);

}  // namespace detail

}}}  // namespace tenon::TENON_RELEASE::conformance
