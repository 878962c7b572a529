// SPDX-License-Identifier: MIT
//
// Lines that a plugin writes to the standard streams: which are declared, and one finding for all
// tests that have it.
#include "printed_lines.hpp"

#include <string>
#include <utility>
#include <vector>

#include "kit/boundary/standard_streams.hpp"
#include "kit/verdict/verdict.hpp"
#include "support/catch.hpp"

using namespace tenon;
using namespace tenon::conformance;

namespace printed_lines_test {
namespace {

TestResult failed(std::vector<Finding> findings) {
  TestResult out;
  out.rules = {"TN-EXE-1"};
  out.findings = std::move(findings);
  decide_outcome(out, nullptr);
  return out;
}

Finding wrote(const std::string& function, int bytes, const std::string& line = "") {
  return {"TN-PRC-5", function + " wrote " + std::to_string(bytes) +
                          " bytes to standard output or standard error" + line};
}

}  // namespace

TEST_CASE("what all tests print is a finding of the first one", "[printed-lines]") {
  std::vector<TestResult> results{failed({}),
                                  failed({wrote("init", 9, ": 'a 1'")}),
                                  failed({wrote("init", 10, ": 'a 1'")}),
                                  failed({wrote("init", 9, ": 'a 1'"), {"TN-EXE-1", "wrong"}}),
                                  failed({wrote("execute", 9, ": 'a 1'")}),
                                  failed({wrote("init", 9, ": 'a 1'")})};
  results[5].ended = Outcome::not_applicable;
  judge_printed_lines(Subject(), results);
  CHECK(results[0].outcome == Outcome::passed);
  REQUIRE(results[1].findings.size() == 1);
  CHECK(results[1].findings[0].text ==
        "init wrote 9 bytes to standard output or standard error: 'a 1' (in 4 tests; this is "
        "reported once)");
  CHECK(results[1].outcome == Outcome::failed);
  CHECK(results[2].findings.empty());
  CHECK(results[2].outcome == Outcome::passed);
  REQUIRE(results[3].findings.size() == 1);
  CHECK(results[3].findings[0].rule == "TN-EXE-1");
  CHECK(results[3].outcome == Outcome::failed);
  CHECK(results[4].findings.at(0) == wrote("execute", 9, ": 'a 1'"));
  CHECK(results[5].outcome == Outcome::not_applicable);
}

TEST_CASE("all that the first test printed is kept", "[printed-lines]") {
  std::vector<TestResult> results{failed({wrote("execute", 3), wrote("execute", 3)})};
  judge_printed_lines(Subject(), results);
  CHECK(results[0].findings == std::vector{wrote("execute", 3), wrote("execute", 3)});
}

TEST_CASE("tests that fail as declared keep what they print", "[printed-lines]") {
  Subject subject;
  subject.expected_failure_tests = {{"TN-EXE-1", "known", "expected_failure[0]"}};
  std::vector<TestResult> results{failed({wrote("init", 9)}), failed({wrote("init", 9)})};
  for (TestResult& result : results) decide_outcome(result, &subject.expected_failure_tests[0]);
  judge_printed_lines(subject, results);
  for (const TestResult& result : results) {
    CHECK(result.findings.size() == 1);
    CHECK(result.outcome == Outcome::expected_failure);
  }
}

TEST_CASE("lines that are declared are not counted, and the first other one is known",
          "[printed-lines]") {
  const std::vector<PrintedLines> declared{{"INFO: *", "no switch", "printed_lines[0]"}};
  const UndeclaredText all = undeclared_text("INFO: a\nINFO: b\n", declared);
  CHECK(all.declared_bytes == 16);
  CHECK(all.first_line.empty());
  const UndeclaredText some = undeclared_text("INFO: a\nloading\nINFO: cut", declared);
  CHECK(some.declared_bytes == 17);
  CHECK(some.first_line == "loading");
  CHECK(undeclared_text("INFO: a\n", {}).declared_bytes == 0);
  CHECK(undeclared_text("INFO: a\n\n", declared).declared_bytes == 9);
  CHECK(undeclared_text("\n", {}).declared_bytes == 0);
}

TEST_CASE("a declaration of lines that no test printed is an error", "[printed-lines]") {
  Subject subject;
  subject.printed_lines = {{"INFO: *", "no switch", "printed_lines[0]"}};
  std::vector<TestResult> results(2);
  results[1].output = "loading\nINFO: a\n";
  CHECK(check_printed_lines(subject, results).ok());
  results[1].output = "loading\n";
  CHECK_THAT(std::string(check_printed_lines(subject, results).text()),
             ContainsSubstring("printed_lines[0]: 'INFO: *' matches no line that a test printed"));
}

}  // namespace printed_lines_test
