// SPDX-License-Identifier: MIT
#include "kit/report/text.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "kit/report/escape.hpp"
#include "kit/verdict/rule.hpp"
#include "support/catch.hpp"
#include "tenon/core/concat.hpp"
#include "unit/conformance/report/sample_report.hpp"

using namespace tenon::conformance;

namespace report_text_test {

using sample::count_of;

namespace {

std::string last_line(std::string_view text) {
  text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

}  // namespace

TEST_CASE("a line of progress has number, path and outcome", "[conformance]") {
  const Report report = sample::report_with_all_outcomes();
  const auto& tests = report.subjects[0].tests;
  CHECK(progress_line(1, 9, tests[0], false) ==
        "[1/9] lifecycle/init and destroy take turns/ZooBackend/add ... passed");
  CHECK(progress_line(37, 212, tests[1], false) ==
        "[ 37/212] arguments/leaves-inputs-unchanged/ZooBackend/add ... failed "
        "(TN-EXE-2, TN-EXE-1)");
  CHECK(progress_line(212, 212, tests[7], false) ==
        "[212/212] leaks/descriptors are closed/ZooBackend/add ... kit error: fork: Resource "
        "temporarily unavailable");
  CHECK(progress_line(5, 9, tests[4], false) ==
        "[5/9] threads/delegates run beside each other/ZooBackend/add ... unsupported");
  CHECK(progress_line(1, 9, tests[0], true).ends_with(" ... \x1b[32mpassed\x1b[0m"));
}

TEST_CASE("a summary has each broken rule once, with its findings", "[conformance]") {
  Report report = sample::report_with_all_outcomes();
  TestResult again = report.subjects[0].tests[1];
  again.of_case = "mul";
  again.crashes.clear();
  report.subjects[0].tests.push_back(again);
  const std::string text = to_text(report, false, false);
  const Rule& rule = *find_rule("TN-EXE-2");
  CHECK(count_of(text, rule.sentence) == 1);
  CHECK_THAT(text, ContainsSubstring(
                       tenon::concat("\nTN-EXE-2  ", rule.sentence, "\n  ", rule.source, "\n")));
  CHECK(count_of(text, "input 1: byte 3 of 16: expected 0x3f, found 0x00") == 2);
  CHECK_THAT(text, ContainsSubstring("  arguments/leaves-inputs-unchanged/ZooBackend/mul "
                                     "(a run leaves its inputs unchanged)\n    input 1: byte 3"));
  SECTION("a crash is reported once although two rules were broken") {
    CHECK(count_of(text,
                   "SIGSEGV at 0x7f12a4c01000 (behind input 1) in execute, call 37, thread "
                   "2\n") == 1);
    CHECK_THAT(text, ContainsSubstring("    last calls, oldest first:\n      init(ZooBackend"));
    CHECK_THAT(text, ContainsSubstring("    backtrace, innermost first:\n      write_behind"));
  }
  SECTION("failures without a broken rule are reported") {
    CHECK_THAT(text,
               ContainsSubstring("unexpected pass: was said to fail: keys are not looked at"));
    CHECK_THAT(text, ContainsSubstring("kit error: fork: Resource temporarily unavailable"));
    CHECK_THAT(text, ContainsSubstring("expected failure: half precision, see issue 12"));
  }
  SECTION("the verdict is the last line") {
    CHECK(last_line(text) ==
          "FAIL: 2 rules broken, 1 unexpected pass, 1 error of the kit; 4 of 10 tests failed");
    CHECK_THAT(text, ContainsSubstring("\n10 tests: 2 passed, 2 failed, 1 expected failure, "));
    CHECK_THAT(text, ContainsSubstring(" in 12 s\n"));
  }
  SECTION("reasons for tests that did not run, and output, need verbose") {
    CHECK(count_of(text, "one device queue") == 0);
    CHECK(count_of(text, "zoo: about to write") == 0);
    const std::string all = to_text(report, false, true);
    CHECK_THAT(all, ContainsSubstring("unsupported: one device queue\n"));
    CHECK_THAT(all, ContainsSubstring("not applicable: the backend has no devices\n"));
    CHECK_THAT(all, ContainsSubstring("blocked: init failed\n"));
    CHECK_THAT(all, ContainsSubstring("      zoo: about to write\n      zoo: writing\n"));
  }
}

TEST_CASE("a summary of a good run is short", "[conformance]") {
  const Report report =
      sample::report_of({sample::test_of("arguments", "inputs", Outcome::passed, {"TN-EXE-2"})});
  const std::string text = to_text(report, false, false);
  CHECK(last_line(text) == "PASS: 1 rule kept; 1 of 1 test judged");
  CHECK(count_of(text, "\n") == 7);
  CHECK_THAT(text, ContainsSubstring("zoo 1.0 by Someone: /plugins/zoo.so\n"));
  CHECK_THAT(text, ContainsSubstring("level 5, seed 18364758544493064720, 2026-11-21T15:30:00Z"));
}

TEST_CASE("the reason that blocks several tests is reported once", "[conformance]") {
  TestResult one = sample::test_of("arguments", "inputs", Outcome::blocked, {"TN-EXE-2"});
  one.reason = "the backend cannot be opened: no licence";
  TestResult two = one;
  two.name = "outputs";
  const std::string text = to_text(sample::report_of({one, two}), false, false);
  CHECK_THAT(text,
             ContainsSubstring("\nBlocked\n  2 tests: the backend cannot be opened: no licence\n"));
}

TEST_CASE("an empty report is a failure", "[conformance]") {
  const std::string text = to_text(Report{}, false, true);
  CHECK(last_line(text) == "FAIL: no test was run");
  CHECK_THAT(text, ContainsSubstring("0 tests: "));
}

TEST_CASE("many findings and long traces are cut unless verbose", "[conformance]") {
  TestResult failed = sample::test_of("arguments", "inputs", Outcome::failed, {"TN-EXE-2"});
  for (int i = 0; i < 30; ++i) {
    failed.findings.push_back({"TN-EXE-2", "finding number " + std::to_string(i)});
  }
  Crash crash = sample::crash_of("SIGSEGV");
  crash.last_calls.clear();
  crash.backtrace.clear();
  for (int i = 0; i < 30; ++i) {
    crash.last_calls.push_back("call number " + std::to_string(i));
    crash.backtrace.push_back("frame number " + std::to_string(i));
  }
  failed.crashes = {crash};
  const Report report = sample::report_of({failed});
  const std::string text = to_text(report, false, false);
  CHECK(count_of(text, "finding number ") == 8);
  CHECK_THAT(text, ContainsSubstring("  and 22 more\n"));
  CHECK_THAT(text,
             ContainsSubstring("last calls, oldest first (8 of 30):\n      call number 22\n"));
  CHECK_THAT(text, ContainsSubstring("      call number 29\n"));
  CHECK_THAT(text, ContainsSubstring("innermost first (8 of 30):\n      frame number 0\n"));
  CHECK(count_of(text, "frame number 8\n") == 0);
  const std::string all = to_text(report, false, true);
  CHECK(count_of(all, "finding number ") == 30);
  CHECK(count_of(all, "call number ") == 30);
  CHECK(count_of(all, "frame number ") == 30);
}

TEST_CASE("findings of an expected failure are not among the findings of a broken rule",
          "[conformance]") {
  TestResult failed = sample::test_of("arguments", "inputs", Outcome::failed);
  failed.findings = {{"TN-EXE-2", "unexpected finding"}};
  TestResult expected = failed;
  expected.outcome = Outcome::expected_failure;
  expected.findings[0].text = "the finding that was expected";
  const std::string text = to_text(sample::report_of({expected, failed}), false, true);
  CHECK(count_of(text, "unexpected finding") == 1);
  CHECK(count_of(text, "the finding that was expected") == 0);
}

TEST_CASE("tests of several plugins have the plugin's name", "[conformance]") {
  TestResult failed = sample::test_of("arguments", "inputs", Outcome::failed);
  failed.findings = {{"TN-EXE-2", "input 1"}};
  const Report report = sample::report_of(
      {sample::subject_of("first", {failed}), sample::subject_of("second", {failed})});
  const std::string text = to_text(report, false, false);
  CHECK_THAT(text, ContainsSubstring("  first: arguments/inputs/ZooBackend/add\n"));
  CHECK_THAT(text, ContainsSubstring("  second: arguments/inputs/ZooBackend/add\n"));
}

TEST_CASE("no text of a plugin controls the terminal", "[conformance]") {
  const Report report = sample::hostile_report();
  for (const std::string& text : {to_text(report, false, true), to_text(report, false, false),
                                  progress_line(1, 1, report.subjects[0].tests[0], false)}) {
    CHECK(std::ranges::none_of(text, [](char c) {
      return (c != '\n' && static_cast<unsigned char>(c) < 0x20) || c == 0x7f;
    }));
    CHECK(text == escape::utf8(text));
    CHECK(count_of(text, "\xc2\x9b") == 0);
    CHECK(count_of(text, "\xe2\x80\xae") == 0);
  }
  CHECK(progress_line(1, 1, report.subjects[0].tests[0], false).find('\n') == std::string::npos);
  const std::string colored = to_text(report, true, true);
  CHECK(count_of(colored, "\x1b[31m\x7f") == 0);
  CHECK(count_of(colored, "\x1b[31m") > 0);
}

}  // namespace report_text_test
