// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tenon/conformance/result.hpp"

/// Whether a test and a run pass. Nothing else in the kit decides it: runners collect how tests
/// ended, and exit codes, reports and certificates ask here.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

struct Declaration;

/// Decides the outcome of a test that was run. `result` has its findings, and in `outcome` and
/// `reason` how its body ended. With a finding it failed, however its body ended. `expected` is the
/// declaration that the test fails, or null: a failure then is an expected one, and a test that
/// passed is a failure.
void decide_outcome(TestResult& result, const Declaration* expected);

/// Whether the outcome makes the whole run fail.
[[nodiscard]] constexpr bool is_bad(Outcome outcome) noexcept {
  return outcome == Outcome::failed || outcome == Outcome::unexpected_pass ||
         outcome == Outcome::kit_error;
}

/// Whether a test with such an outcome ran to its end and says something about the subject.
[[nodiscard]] constexpr bool is_judged(Outcome outcome) noexcept {
  return outcome == Outcome::passed || outcome == Outcome::failed ||
         outcome == Outcome::expected_failure || outcome == Outcome::unexpected_pass;
}

/// Whether no test that came to its end executed a delegate or a kernel of the plugin.
[[nodiscard]] bool is_idle(const SubjectReport& subject);

/// The lowest level that executes delegates: level 1 judges the file.
inline constexpr int first_executing_level = 2;

/// How a run ended. Only `pass` is good: "was not examined" must not be taken for "nothing is
/// wrong".
enum class Verdict : std::uint8_t {
  pass,
  fail,        ///< A test has a bad outcome, or no test could judge anything.
  incomplete,  ///< Nothing is bad, but tests were blocked, or all tests of a level above 1 executed
               ///< no delegate and no kernel of a plugin.
};

/// "PASS", "FAIL" or "INCOMPLETE": the first word of the verdict in the reports.
[[nodiscard]] constexpr std::string_view verdict_name(Verdict verdict) noexcept {
  constexpr std::array<std::string_view, 3> names = {"PASS", "FAIL", "INCOMPLETE"};
  return names[static_cast<std::size_t>(verdict)];
}

/// The verdict of a run, from the results of its tests alone.
[[nodiscard]] Verdict verdict_of(const Report& report);

}}}  // namespace tenon::TENON_RELEASE::conformance
