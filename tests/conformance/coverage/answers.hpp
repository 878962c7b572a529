// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "coverage/coverage.hpp"
#include "coverage/programs.hpp"
#include "tenon/conformance/result.hpp"
#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The answers of one process, which began with a call of a given number.
struct Answers {
  std::size_t next = 0;     ///< The first call without an answer.
  bool is_complete = true;  ///< The process came to its end.
};

inline void set_cell(CoverageMatrix& matrix, const RecordedCall& call, Coverage coverage,
                     const std::string& reason) {
  matrix.cells[call.name][call.dtype] = coverage;
  if (call.core) matrix.core.insert(call.name);
  if (!reason.empty()) matrix.reasons.try_emplace(call.name, concat(call.dtype, ": ", reason));
}

/// Reads what a process wrote into `matrix`: "begin" with the number of the call, then "answer"
/// with its result. All numbers are checked, because a plugin was in the process: an answer that is
/// no coverage counts as wrong.
inline Answers read_answers(const TestResult& result, const std::vector<RecordedCall>& calls,
                            std::size_t from, CoverageMatrix& matrix) {
  Answers out{from};
  bool begun = false;
  for (const Measurement& one : result.measurements) {
    if (out.next >= calls.size()) break;
    if (one.name == "begin") begun = one.value == static_cast<double>(out.next);
    if (one.name != "answer" || !begun) continue;
    // NaN is in no range; a fraction is no coverage either.
    const bool is_known = one.value >= 0 && one.value < static_cast<double>(num_coverages) &&
                          one.value == std::floor(one.value);
    const RecordedCall& call = calls[out.next++];
    if (is_known) {
      const auto number = static_cast<std::size_t>(one.value);
      set_cell(matrix, call, static_cast<Coverage>(number), one.unit);
    } else {
      set_cell(matrix, call, Coverage::wrong, "the process answered with a number of no meaning");
    }
    begun = false;
  }
  out.is_complete = result.crashes.empty();
  if (out.is_complete || !begun) return out;
  const Crash& crash = result.crashes.front();
  set_cell(matrix, calls[out.next++], Coverage::crashed, concat(crash.what, " in ", crash.in));
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
