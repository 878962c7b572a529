// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run.hpp"
#include "tenon/host/layers/arrays/compare_arrays.hpp"

namespace tenon::run {

/// The report for a person. Ends with a line feed unless it is empty. Says nothing of a failure:
/// that is `tool::error_line`.
[[nodiscard]] std::string to_text(const Report& report);

/// The report as one JSON object in one line, with a line feed; docs/tools/tenon-run.md has its
/// schema.
[[nodiscard]] std::string to_json(const Report& report);

/// The verdict for a person, without a line feed at the end: one line when equal, else several.
[[nodiscard]] std::string report(const host::Comparison& comparison);

/// Smallest and middle of some durations; zeros when there is none.
struct Spread {
  std::uint64_t min = 0;
  std::uint64_t median = 0;  ///< Of an even number the lower of the two in the middle.
};
[[nodiscard]] Spread spread_of(std::vector<std::uint64_t> values);

}  // namespace tenon::run
