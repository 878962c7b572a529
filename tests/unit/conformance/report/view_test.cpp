// SPDX-License-Identifier: MIT
#include "kit/report/view.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "kit/verdict/rule.hpp"
#include "support/catch.hpp"
#include "unit/conformance/report/sample_report.hpp"

using namespace tenon::conformance;

namespace report_view_test {
namespace {

const JudgedRule& rule_of(const ReportView& view, std::string_view id) {
  const auto found = std::ranges::find(view.rules, id, &JudgedRule::id);
  REQUIRE(found != view.rules.end());
  return *found;
}

TestResult finding(Outcome outcome) {
  TestResult out = sample::test_of("arguments", "inputs", outcome, {"TN-EXE-2"});
  out.findings = {{"TN-EXE-2", "input 1"}};
  return out;
}

}  // namespace

TEST_CASE("a rule is kept when a test that can find it broken passed", "[conformance]") {
  const Report report =
      sample::report_of({sample::test_of("arguments", "inputs", Outcome::passed, {"TN-EXE-2"})});
  const ReportView view = view_of(report);
  const JudgedRule& rule = rule_of(view, "TN-EXE-2");
  CHECK(rule.state == RuleState::kept);
  CHECK(rule.sentence == find_rule("TN-EXE-2")->sentence);
  CHECK(rule.source == find_rule("TN-EXE-2")->source);
  CHECK(view.count(RuleState::kept) == 1);
  CHECK(view.count(RuleState::not_judged) == rules().size() - 1);
  CHECK(view.good);
  CHECK(view.verdict == "PASS: 1 rule kept; 1 of 1 test judged");
}

TEST_CASE("a rule is broken as soon as one test finds it broken", "[conformance]") {
  TestResult passes = sample::test_of("numerics", "results", Outcome::passed, {"TN-EXE-2"});
  const Report report = sample::report_of({passes, finding(Outcome::failed), passes});
  const ReportView view = view_of(report);
  const JudgedRule& rule = rule_of(view, "TN-EXE-2");
  CHECK(rule.state == RuleState::broken);
  REQUIRE(rule.violations.size() == 1);
  CHECK(rule.violations[0].test == &report.subjects[0].tests[1]);
  CHECK(rule.violations[0].finding->text == "input 1");
  CHECK_FALSE(view.good);
  CHECK(view.verdict == "FAIL: 1 rule broken; 1 of 3 tests failed");
}

TEST_CASE("a rule that is broken only as the subject file declares makes no run bad",
          "[conformance]") {
  const Report report = sample::report_of({finding(Outcome::expected_failure)});
  const ReportView view = view_of(report);
  CHECK(rule_of(view, "TN-EXE-2").state == RuleState::expected);
  CHECK(view.good);
  const Report both =
      sample::report_of({finding(Outcome::expected_failure), finding(Outcome::failed)});
  CHECK(rule_of(view_of(both), "TN-EXE-2").state == RuleState::broken);
}

TEST_CASE("a test that did not come to an end says nothing of its rules", "[conformance]") {
  for (const Outcome outcome : {Outcome::failed, Outcome::unsupported, Outcome::not_applicable,
                                Outcome::blocked, Outcome::kit_error}) {
    const Report report =
        sample::report_of({sample::test_of("arguments", "inputs", outcome, {"TN-EXE-2"})});
    const ReportView view = view_of(report);
    CAPTURE(outcome_name(outcome));
    CHECK(rule_of(view, "TN-EXE-2").state == RuleState::not_judged);
    CHECK_FALSE(view.good);
  }
}

TEST_CASE("a rule that the kit does not know is reported", "[conformance]") {
  TestResult odd = sample::test_of("arguments", "inputs", Outcome::failed);
  odd.findings = {{"of another kit", "text"}};
  const Report report = sample::report_of({odd});
  const ReportView view = view_of(report);
  CHECK(view.rules.size() == rules().size() + 1);
  CHECK(view.rules.back().id == "of another kit");
  CHECK(view.rules.back().sentence.empty());
  CHECK(view.rules.back().state == RuleState::broken);
}

TEST_CASE("a run that judged nothing is not good", "[conformance]") {
  CHECK(view_of(Report{}).verdict == "FAIL: no test was run");
  const Report none =
      sample::report_of({sample::test_of("unload", "is gone", Outcome::not_applicable)});
  CHECK(view_of(none).verdict == "FAIL: nothing was judged; 1 test, none ran");
  CHECK_FALSE(view_of(none).good);
}

TEST_CASE("a run with blocked tests is neither passed nor failed", "[conformance]") {
  const Report report = sample::report_of(
      {sample::test_of("arguments", "inputs", Outcome::passed, {"TN-EXE-2"}),
       sample::test_of("leaks", "unloading", Outcome::blocked, {"TN-BCK-5"}),
       sample::test_of("leaks", "loading", Outcome::not_applicable, {"TN-BCK-5"})});
  const ReportView view = view_of(report);
  CHECK(view.verdict == "INCOMPLETE: 1 of 3 tests could not be judged; 1 rule kept");
  CHECK_FALSE(view.good);
}

TEST_CASE("a run that executed no delegate is incomplete", "[conformance]") {
  TestResult opened = sample::test_of("lifecycle", "opens", Outcome::passed, {"TN-BCK-5"});
  opened.executed = false;
  Report report = sample::report_of({opened});
  CHECK(view_of(report).verdict ==
        "INCOMPLETE: 1 rule kept; 1 of 1 test judged; no delegate was executed");
  CHECK_FALSE(view_of(report).good);
  // What ran in a test without a result is no evidence.
  TestResult blocked = sample::test_of("numerics", "outputs", Outcome::blocked);
  blocked.executed = true;
  CHECK(view_of(sample::report_of({opened, blocked})).verdict ==
        "INCOMPLETE: 1 of 2 tests could not be judged; 1 rule kept; no delegate was executed");
  const TestResult ran = sample::test_of("numerics", "outputs", Outcome::passed);
  // Each plugin, and not one for all.
  const Report two =
      sample::report_of({sample::subject_of("a", {ran}), sample::subject_of("b", {opened})});
  CHECK(view_of(two).verdict ==
        "INCOMPLETE: 1 rule kept; 2 of 2 tests judged; no delegate of 1 plugin was executed");
  // Level 1 judges the file.
  report.level = 1;
  CHECK(view_of(report).verdict ==
        "PASS: 1 rule kept; 1 of 1 test judged; no delegate was executed");
}

TEST_CASE("a verdict counts each way to fail", "[conformance]") {
  const Report report = sample::report_with_all_outcomes();
  const ReportView view = view_of(report);
  CHECK(view.num_tests == 9);
  CHECK(view.num_judged == 5);
  CHECK(view.num_bad == 3);
  CHECK(view.verdict ==
        "FAIL: 2 rules broken, 1 unexpected pass, 1 error of the kit; 3 of 9 tests failed");
}

TEST_CASE("plugins have different names", "[conformance]") {
  SubjectReport nameless = sample::subject_of("zoo", {});
  nameless.name.clear();
  const Report report = sample::report_of(
      {sample::subject_of("zoo", {}), nameless, sample::subject_of("zoo", {}), SubjectReport{}});
  const ReportView view = view_of(report);
  CHECK(view.subjects == std::vector<std::string>{"zoo", "zoo.so", "zoo (2)", "plugin"});
}

TEST_CASE("names of states and outcomes are written without underscores", "[conformance]") {
  CHECK(rule_state_name(RuleState::kept) == "kept");
  CHECK(rule_state_name(RuleState::not_judged) == "not_judged");
  CHECK(in_words("not_judged") == "not judged");
}

}  // namespace report_view_test
