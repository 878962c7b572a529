// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/conformance/result.hpp"
#include "tenon/core/result.hpp"

/// Reads what json.hpp writes.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Most bytes of a report that is read. A run of all levels has a few MiB.
inline constexpr std::uint64_t max_report_size = std::uint64_t{256} << 20;

/// The report that `to_json` wrote as `text`. InvalidArgument, with the place, for anything else,
/// for a key that is there twice, and above `max_report_size`: the file is untrusted.
[[nodiscard]] Result<Report> report_from_json(std::string_view text);

/// The test that `to_json` wrote as `text`.
[[nodiscard]] Result<TestResult> test_from_json(std::string_view text);

}}}  // namespace tenon::TENON_RELEASE::conformance
