// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "kit/report/options.hpp"
#include "tenon/conformance/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// `report` as one HTML file: the plugins, the verdict, each broken rule with its findings, and
/// tables of all rules and all tests with filters. The file refers to nothing outside of itself and
/// has no script; it makes a browser load and run nothing, so that even a text that was not
/// escaped could do no harm.
[[nodiscard]] std::string to_html(const Report& report, const ReportOptions& options = {});

}}}  // namespace tenon::TENON_RELEASE::conformance
