// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "kit/report/options.hpp"
#include "tenon/conformance/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// A summary of `report` in GitHub's Markdown, for `$GITHUB_STEP_SUMMARY` or a comment; well under
/// the 1 MiB that GitHub accepts.
[[nodiscard]] std::string to_markdown(const Report& report, const ReportOptions& options = {});

}}}  // namespace tenon::TENON_RELEASE::conformance
