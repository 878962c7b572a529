// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "kit/report/options.hpp"
#include "tenon/conformance/result.hpp"

/// Reports as JSON; docs/schemas/tenon-conformance.schema.json describes it.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Grows when a reader of older reports would misread newer ones.
inline constexpr int report_format = 1;

/// One test on one line, as the process of a test sends it to the runner. ASCII, without a line
/// feed at the end.
[[nodiscard]] std::string to_json(const TestResult& test);

/// `report` as JSON in ASCII, with a line feed at its end. `report_from_json` reads it back without
/// loss, except for bytes that are not UTF-8, which come back as `\xff`, and for what `options`
/// leave out.
[[nodiscard]] std::string to_json(const Report& report, const ReportOptions& options = {});

}}}  // namespace tenon::TENON_RELEASE::conformance
