// SPDX-License-Identifier: MIT
#include "kit/verdict/verdict.hpp"

#include <algorithm>
#include <cstddef>

#include "tenon/conformance/subject.hpp"
#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

void decide_outcome(TestResult& result, const Declaration* expected) {
  if (!result.findings.empty()) result.outcome = Outcome::failed;
  if (!expected) return;
  if (result.outcome == Outcome::failed) {
    result.outcome = Outcome::expected_failure;
    result.reason = expected->reason;
  } else if (result.outcome == Outcome::passed) {
    result.outcome = Outcome::unexpected_pass;
    result.reason =
        concat("passed, but ", expected->where, " says that it fails: ", expected->reason);
  }
}

bool is_idle(const SubjectReport& subject) {
  return std::ranges::none_of(subject.tests, [](const TestResult& test) {
    return test.executed && is_judged(test.outcome);
  });
}

Verdict verdict_of(const Report& report) {
  const auto outcomes = count_outcomes(report);
  std::size_t bad = 0, judged = 0;
  for (std::size_t i = 0; i < num_outcomes; ++i) {
    if (is_bad(static_cast<Outcome>(i))) bad += outcomes[i];
    if (is_judged(static_cast<Outcome>(i))) judged += outcomes[i];
  }
  if (bad != 0 || judged == 0) return Verdict::fail;
  if (outcomes[static_cast<std::size_t>(Outcome::blocked)] != 0) return Verdict::incomplete;
  const bool must_execute = report.all_tests && report.level >= first_executing_level;
  return must_execute && std::ranges::any_of(report.subjects, is_idle) ? Verdict::incomplete
                                                                       : Verdict::pass;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
