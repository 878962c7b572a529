// SPDX-License-Identifier: MIT
//
// Files that tests leave in their directories for temporary files: one finding for all of them.
#include "left_files.hpp"

#include <string>
#include <utility>
#include <vector>

#include "kit/verdict/verdict.hpp"
#include "support/catch.hpp"

using namespace tenon;
using namespace tenon::conformance;

namespace left_files_test {
namespace {

TestResult passed(std::vector<std::string> left_files) {
  TestResult out;
  out.suite = "lifecycle";
  out.name = "x";
  out.rules = {"TN-EXE-1"};
  out.left_files = std::move(left_files);
  return out;
}

}  // namespace

TEST_CASE("files that tests leave are one finding of the first such test", "[left-files]") {
  std::vector<TestResult> results{passed({}), passed({".ses"}), passed({".ses", "a/b"}),
                                  passed({".ses"})};
  judge_left_files(Subject(), results);
  CHECK(results[0].outcome == Outcome::passed);
  CHECK(results[1].outcome == Outcome::failed);
  REQUIRE(results[1].findings.size() == 1);
  CHECK(results[1].findings[0].rule == "TN-BCK-5");
  CHECK(results[1].findings[0].text ==
        "files left in the temporary directory (TMPDIR, TEMP): .ses, a/b (3 tests left some; this "
        "is reported once)");
  CHECK(results[2].findings.empty());
  CHECK(results[2].outcome == Outcome::passed);
  CHECK(results[3].outcome == Outcome::passed);
}

TEST_CASE("a run that leaves no file has no finding", "[left-files]") {
  std::vector<TestResult> results{passed({}), passed({})};
  judge_left_files(Subject(), results);
  CHECK(results[0].findings.empty());
  CHECK(results[0].outcome == Outcome::passed);
}

TEST_CASE("of many names some are shown and the others counted", "[left-files]") {
  std::vector<TestResult> results;
  for (int i = 0; i < 30; ++i) results.push_back(passed({"tmp." + std::to_string(i)}));
  judge_left_files(Subject(), results);
  CHECK_THAT(results[0].findings.at(0).text,
             ContainsSubstring("tmp.6, tmp.7 and 22 with other names (30 tests left some"));
}

TEST_CASE("declared files are not judged, and others still are", "[left-files]") {
  Subject subject;
  subject.left_files = {{".ses", "telemetry", "left_files[0]"},
                        {"cache", "compiled kernels", "left_files[1]"}};
  std::vector<TestResult> results{passed({".ses", "cache/a/b.bin"}), passed({"cached", ".ses"})};
  judge_left_files(subject, results);
  CHECK(results[0].outcome == Outcome::passed);
  CHECK(results[1].findings.at(0).text ==
        "files left in the temporary directory (TMPDIR, TEMP): cached");
}

TEST_CASE("a failure that is expected stays one when files were left", "[left-files]") {
  Subject subject;
  subject.expected_failure_tests = {{"TN-EXE-1", "known", "expected_failure[0]"}};
  std::vector<TestResult> results{passed({".ses"})};
  decide_outcome(results[0], subject.expected_failure(results[0]));
  REQUIRE(results[0].outcome == Outcome::unexpected_pass);
  judge_left_files(subject, results);
  CHECK(results[0].outcome == Outcome::expected_failure);
  CHECK(results[0].reason == "known");
}

TEST_CASE("a declaration of files that no test left is named with its place", "[left-files]") {
  Subject subject;
  subject.file = "acme.json";
  subject.left_files = {{".ses", "telemetry", "left_files[0]"},
                        {"*.lock", "locks", "left_files[1]"}};
  const std::vector<TestResult> results{passed({".ses"})};
  const Status outdated = check_left_files(subject, results);
  CHECK(outdated.error() == Error::InvalidArgument);
  CHECK(outdated.text() == "acme.json: left_files[1]: '*.lock' matches no file that a test left");
  subject.left_files.pop_back();
  CHECK(check_left_files(subject, results).ok());
}

TEST_CASE("a pattern is about a path or a directory above it", "[left-files]") {
  const auto matches = [](const char* pattern, const std::string& path) {
    return LeftFiles{pattern, "r", "w"}.matches(path);
  };
  CHECK(matches("cache", "cache"));
  CHECK(matches("cache", "cache/a"));
  CHECK(matches("cache/a", "cache/a/b"));
  CHECK(matches("c?che", "cache/a"));
  CHECK_FALSE(matches("cache", "cached/a"));
  CHECK_FALSE(matches("a", "cache/a"));
}

}  // namespace left_files_test
