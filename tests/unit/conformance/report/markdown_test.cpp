// SPDX-License-Identifier: MIT
#include "kit/report/markdown.hpp"

#include <string>
#include <string_view>

#include "kit/report/escape.hpp"
#include "support/catch.hpp"
#include "unit/conformance/report/sample_report.hpp"

using namespace tenon::conformance;

TEST_CASE("the Markdown summary has verdict, counts and broken rules", "[conformance]") {
  const std::string text = to_markdown(sample::report_with_all_outcomes());
  CHECK(text.starts_with("## \xe2\x9d\x8c FAIL: 2 rules broken, 1 unexpected pass"));
  CHECK_THAT(text, ContainsSubstring("| zoo | 1.0 | aaaaaaaaaaaaaaaa |\n"));
  CHECK_THAT(text, ContainsSubstring("| expected failure | 1 |\n"));
  CHECK_THAT(text, ContainsSubstring("\n**TN-EXE-2** `execute` MUST"));
  CHECK_THAT(
      text,
      ContainsSubstring(
          "- arguments/leaves-inputs-unchanged/ZooBackend/add \\(a run leaves "
          "its inputs unchanged\\): input 1: byte 3 of 16: expected 0x3f, found 0x00 \xe2\x80\x94 "
          "SIGSEGV at 0x7f12a4c01000 \\(behind input 1\\)\n"));
  CHECK_THAT(text, ContainsSubstring("unexpected pass: was said to fail: keys"));
  CHECK_THAT(text, ContainsSubstring("expected failure: half precision, see issue 12\n"));
  CHECK(to_markdown(Report{}).starts_with("## \xe2\x9d\x8c FAIL: no test was run\n"));
  CHECK(to_markdown(sample::report_of({sample::test_of("s", "n", Outcome::passed)}))
            .starts_with("## \xe2\x9c\x85 PASS"));
}

TEST_CASE("the Markdown summary stays below the limit of GitHub", "[conformance]") {
  const std::string worst(2000, '@');
  TestResult failed = sample::test_of("arguments", worst, Outcome::failed);
  failed.crashes = {sample::crash_of(worst)};
  const auto break_rules = [&](int below) {
    for (int i = static_cast<int>(failed.findings.size()); i < below; ++i) {
      failed.findings.push_back({"rule " + std::to_string(i), worst});
    }
  };
  break_rules(10);
  TestResult error = sample::test_of("arguments", worst, Outcome::kit_error);
  error.reason = worst;
  TestResult expected = error;
  expected.outcome = Outcome::expected_failure;
  SubjectReport subject = sample::subject_of(worst, {});
  for (int i = 0; i < 50; ++i) {
    subject.tests.push_back(failed);
    subject.tests.push_back(error);
    subject.tests.push_back(expected);
  }
  break_rules(400);
  subject.tests[0] = failed;
  const std::string text = to_markdown(sample::report_of(std::vector(30, subject)));
  CHECK(text.size() < (1u << 20));
  CHECK_THAT(text, ContainsSubstring("| and 10 more | | |\n"));
  CHECK_THAT(text, ContainsSubstring("\nand 395 more rules\n"));
  CHECK_THAT(text, ContainsSubstring("- and 1480 more\n"));
}

TEST_CASE("no text of a plugin is markup in the Markdown summary", "[conformance]") {
  const std::string text = to_markdown(sample::hostile_report());
  CHECK(text == escape::utf8(text));
  for (const std::string_view mark : {"<script", "@all", "[a](b)", " | ` ", "\x1b"}) {
    CAPTURE(mark);
    CHECK(text.find(mark) == text.npos);
  }
}
