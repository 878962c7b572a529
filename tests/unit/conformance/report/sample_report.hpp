// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/conformance/result.hpp"

namespace sample {

using namespace tenon::conformance;  // NOLINT(google-build-using-namespace): a test's header

/// The special characters of every format, and characters that no format may contain.
inline const std::string& hostile_text() {
  static const std::string text =
      std::string("]]>") +
      "<script>alert(1)</script>&amp;\"'</style><!-- --> | ` * [a](b) @all $x$" +
      std::string("\0\x01\x08\x1b[31m\x7f\r\n\t", 12) + "\xff\xfe\xc0\xaf\xed\xa0\x80 \xc2\x9b" +
      "\xe2\x80\xae\xef\xbf\xbf\xf4\x90\x80\x80 \xc3\xa9\xf0\x9f\x92\xa5\xe2\x82";
  return text;
}

/// How often `what` is in `text`.
[[nodiscard]] inline std::size_t count_of(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

[[nodiscard]] inline TestResult test_of(std::string suite, std::string name, Outcome outcome,
                                        std::vector<std::string> rules = {}) {
  TestResult test;
  test.suite = std::move(suite);
  test.name = std::move(name);
  test.backend = "ZooBackend";
  test.of_case = "add";
  test.outcome = outcome;
  test.rules = std::move(rules);
  test.executed = outcome != Outcome::unsupported && outcome != Outcome::not_applicable &&
                  outcome != Outcome::blocked && outcome != Outcome::kit_error;
  test.seconds = 0.0123;
  return test;
}

[[nodiscard]] inline SubjectReport subject_of(std::string name, std::vector<TestResult> tests) {
  SubjectReport subject;
  subject.path = "/plugins/" + name + ".so";
  subject.sha256 = std::string(64, 'a');
  subject.name = std::move(name);
  subject.version = "1.0";
  subject.vendor = "Someone";
  subject.sdk_version = "0.1.0";
  subject.backends = {"ZooBackend", "Other"};
  subject.tests = std::move(tests);
  return subject;
}

[[nodiscard]] inline Report report_of(std::vector<SubjectReport> subjects) {
  Report report;
  report.kit_version = "0.1.0";
  report.abi_version = "1.1";
  report.started = "2026-11-21T15:30:00Z";
  report.machine = "Linux x86_64, 2 CPUs";
  report.seed = 0xfedcba9876543210;
  report.level = 5;
  report.all_tests = true;
  report.seconds = 12.5;
  report.subjects = std::move(subjects);
  return report;
}

[[nodiscard]] inline Report report_of(std::vector<TestResult> tests) {
  std::vector<SubjectReport> subjects;
  subjects.push_back(subject_of("zoo", std::move(tests)));
  return report_of(std::move(subjects));
}

[[nodiscard]] inline Crash crash_of(std::string what) {
  return {.what = std::move(what),
          .in = "execute, call 37, thread 2",
          .last_calls = {"init(ZooBackend, 4 bytes) = Ok", "execute(1, 3 values)"},
          .backtrace = {"write_behind at 0x7f12a4c01000 in zoo.so+0x1a2b",
                        "execute in zoo.so+0x1c00", "main in tenon-conformance+0x33"}};
}

/// One test of each outcome, one of which crashed and found two rules broken.
[[nodiscard]] inline Report report_with_all_outcomes() {
  TestResult failed =
      test_of("arguments", "a run leaves its inputs unchanged", Outcome::failed, {"TN-EXE-2"});
  failed.id = "arguments/leaves-inputs-unchanged";
  failed.findings = {{"TN-EXE-2", "input 1: byte 3 of 16: expected 0x3f, found 0x00"},
                     {"TN-EXE-1", "output 0: never written"}};
  failed.crashes = {crash_of("SIGSEGV at 0x7f12a4c01000 (behind input 1)")};
  failed.output = "zoo: about to write\nzoo: writing\n";
  failed.measurements = {{"execute", 1.25e-5, "s"}, {"host allocations", 3, "allocations"}};
  TestResult expected =
      test_of("numerics", "results are those expected", Outcome::expected_failure, {"TN-EXE-1"});
  expected.reason = "half precision, see issue 12";
  expected.findings = {{"TN-EXE-1", "output 0: largest difference 0.1"}};
  TestResult unexpected = test_of("options", "unknown keys are refused", Outcome::unexpected_pass);
  unexpected.reason = "was said to fail: keys are not looked at";
  TestResult unsupported =
      test_of("threads", "delegates run beside each other", Outcome::unsupported);
  unsupported.reason = "one device queue";
  TestResult not_applicable = test_of("unload", "devices are given back", Outcome::not_applicable);
  not_applicable.reason = "the backend has no devices";
  TestResult blocked = test_of("blobs", "a truncated blob is refused", Outcome::blocked);
  blocked.reason = "init failed";
  TestResult kit_error = test_of("leaks", "descriptors are closed", Outcome::kit_error);
  kit_error.reason = "fork: Resource temporarily unavailable";
  TestResult again =
      test_of("lifecycle", "init and destroy take turns", Outcome::passed, {"TN-INI-1"});
  again.repeat = 2;
  return report_of(
      {test_of("lifecycle", "init and destroy take turns", Outcome::passed, {"TN-INI-1"}), failed,
       expected, unexpected, unsupported, not_applicable, blocked, kit_error, again});
}

/// A report in which all texts of a plugin or a file are hostile.
[[nodiscard]] inline Report hostile_report() {
  const std::string& text = hostile_text();
  TestResult test = test_of("arguments", "hostile", Outcome::failed, {"TN-EXE-2"});
  test.id = text;
  test.backend = text;
  test.of_case = text;
  test.reason = text;
  test.findings = {{"TN-EXE-2", text}, {text, text}};
  test.crashes = {{.what = text, .in = text, .last_calls = {text, ""}, .backtrace = {text}}};
  test.measurements = {{text, 1, text}};
  test.output = text + "\n" + text;
  TestResult skipped = test;
  skipped.outcome = Outcome::unsupported;
  skipped.findings.clear();
  skipped.id.clear();
  skipped.name = "skipped";
  TestResult error = skipped;
  error.outcome = Outcome::kit_error;
  error.name = "error";
  TestResult expected = test;
  expected.outcome = Outcome::expected_failure;
  expected.id.clear();
  expected.name = "expected";
  SubjectReport subject = subject_of("hostile", {test, skipped, error, expected});
  subject.path = subject.name = subject.version = subject.vendor = subject.sdk_version = text;
  subject.sha256 = text;
  subject.backends = {text, text};
  Report report = report_of({subject});
  report.machine = report.kit_version = report.abi_version = text;
  return report;
}

}  // namespace sample
