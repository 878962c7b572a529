// SPDX-License-Identifier: MIT
#include "kit/verdict/verdict.hpp"

#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "report/sample_report.hpp"
#include "support/catch.hpp"
#include "tenon/conformance/subject.hpp"

namespace {

using namespace tenon::conformance;

constexpr std::array<Outcome, num_outcomes> all_outcomes = {
    Outcome::passed,          Outcome::failed,      Outcome::expected_failure,
    Outcome::unexpected_pass, Outcome::unsupported, Outcome::not_applicable,
    Outcome::blocked,         Outcome::kit_error};

/// A test whose body ended with `outcome`, after it is decided.
TestResult decided(Outcome outcome, bool has_finding, const Declaration* expected) {
  TestResult result;
  result.outcome = outcome;
  result.reason = "as its body says";
  if (has_finding) result.findings.push_back({"TN-EXE-2", "input 1 was changed"});
  decide_outcome(result, expected);
  return result;
}

Report report_of_outcomes(std::initializer_list<Outcome> outcomes) {
  std::vector<TestResult> tests;
  for (const Outcome outcome : outcomes) tests.push_back(sample::test_of("suite", "test", outcome));
  return sample::report_of(std::move(tests));
}

}  // namespace

TEST_CASE("a test without findings has the outcome with which its body ended", "[conformance]") {
  for (const Outcome outcome : all_outcomes) {
    const TestResult result = decided(outcome, false, nullptr);
    CHECK(result.outcome == outcome);
    CHECK(result.reason == "as its body says");
  }
}

TEST_CASE("a test with a finding failed, however its body ended", "[conformance]") {
  for (const Outcome outcome : all_outcomes) {
    CHECK(decided(outcome, true, nullptr).outcome == Outcome::failed);
  }
}

TEST_CASE("a declared failure is expected, and a declared failure that passes is a failure",
          "[conformance]") {
  const Declaration known{"suite/*", "ACME-231", "expected_failure[0]"};
  const TestResult failed = decided(Outcome::passed, true, &known);
  CHECK(failed.outcome == Outcome::expected_failure);
  CHECK(failed.reason == "ACME-231");
  CHECK_FALSE(is_bad(failed.outcome));
  const TestResult passed = decided(Outcome::passed, false, &known);
  CHECK(passed.outcome == Outcome::unexpected_pass);
  CHECK(passed.reason == "passed, but expected_failure[0] says that it fails: ACME-231");
  CHECK(is_bad(passed.outcome));
  // A test that judged nothing neither failed nor passed.
  for (const Outcome outcome : {Outcome::not_applicable, Outcome::blocked, Outcome::kit_error}) {
    const TestResult result = decided(outcome, false, &known);
    CHECK(result.outcome == outcome);
    CHECK(result.reason == "as its body says");
  }
}

TEST_CASE("each outcome alone gives a run its verdict", "[conformance]") {
  for (const Outcome outcome : all_outcomes) {
    INFO(outcome_name(outcome));
    const bool passes = outcome == Outcome::passed || outcome == Outcome::expected_failure;
    CHECK(verdict_of(report_of_outcomes({outcome})) == (passes ? Verdict::pass : Verdict::fail));
  }
  CHECK(verdict_of(Report{}) == Verdict::fail);
}

TEST_CASE("beside a test that passed, an outcome decides the verdict of a run", "[conformance]") {
  for (const Outcome outcome : all_outcomes) {
    INFO(outcome_name(outcome));
    const Verdict expected = is_bad(outcome)               ? Verdict::fail
                             : outcome == Outcome::blocked ? Verdict::incomplete
                                                           : Verdict::pass;
    CHECK(verdict_of(report_of_outcomes({Outcome::passed, outcome})) == expected);
    CHECK(verdict_of(report_of_outcomes({outcome, Outcome::passed})) == expected);
  }
  CHECK(verdict_of(report_of_outcomes({Outcome::passed, Outcome::blocked, Outcome::failed})) ==
        Verdict::fail);
}

TEST_CASE("a run of all tests above level 1 that executed nothing of a plugin is incomplete",
          "[conformance]") {
  TestResult opened = sample::test_of("lifecycle", "opens", Outcome::passed);
  opened.executed = false;
  Report report = sample::report_of({opened});
  CHECK(is_idle(report.subjects[0]));
  CHECK(verdict_of(report) == Verdict::incomplete);
  report.level = first_executing_level;
  CHECK(verdict_of(report) == Verdict::incomplete);
  // Level 1 judges the file, and some tests are what was asked for.
  report.level = 1;
  CHECK(verdict_of(report) == Verdict::pass);
  report.level = 5;
  report.all_tests = false;
  CHECK(verdict_of(report) == Verdict::pass);

  // What ran in a test without a result is no evidence.
  TestResult blocked = sample::test_of("numerics", "outputs", Outcome::blocked);
  blocked.executed = true;
  CHECK(is_idle(sample::subject_of("a", {opened, blocked})));
  // Each plugin, and not one for all.
  const TestResult ran = sample::test_of("numerics", "outputs", Outcome::passed);
  CHECK(verdict_of(sample::report_of({opened, ran})) == Verdict::pass);
  CHECK(verdict_of(sample::report_of({sample::subject_of("a", {ran}),
                                      sample::subject_of("b", {opened})})) == Verdict::incomplete);
}

TEST_CASE("verdicts have the names that reports begin with", "[conformance]") {
  CHECK(verdict_name(Verdict::pass) == "PASS");
  CHECK(verdict_name(Verdict::fail) == "FAIL");
  CHECK(verdict_name(Verdict::incomplete) == "INCOMPLETE");
}
