// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "tenon/conformance/result.hpp"

/// Options of reports. Without times, two runs with the same seed give the same bytes.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Options of everything that writes a report.
struct ReportOptions {
  /// Whether to write what differs from run to run although nothing else does: dates, seconds,
  /// measurements, process numbers, addresses. Without it, two runs with the same seed on the same
  /// machine can be compared byte for byte.
  bool with_times = true;
};

/// `text` without addresses (hexadecimal numbers of seven digits and more), process numbers and
/// measured seconds: each is replaced by an ellipsis.
[[nodiscard]] std::string stable_text(std::string_view text);

/// `report` as `options` ask for it. The output of a plugin, and the order in which its threads
/// call, may still differ.
[[nodiscard]] Report prepared(Report report, const ReportOptions& options);

}}}  // namespace tenon::TENON_RELEASE::conformance
