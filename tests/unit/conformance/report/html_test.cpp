// SPDX-License-Identifier: MIT
#include "kit/report/html.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "kit/report/escape.hpp"
#include "kit/report/view.hpp"
#include "kit/verdict/rule.hpp"
#include "support/catch.hpp"
#include "unit/conformance/report/sample_report.hpp"

using namespace tenon::conformance;

namespace report_html_test {
using sample::count_of;

TEST_CASE("the HTML report has the plugin, the verdict and the tables", "[conformance]") {
  const std::string html = to_html(sample::report_with_all_outcomes());
  CHECK_THAT(html, ContainsSubstring("<title>FAIL: Conformance of zoo 1.0 by Someone</title>"));
  CHECK_THAT(html, ContainsSubstring("<p class=\"verdict bad\">FAIL: 2 rules broken"));
  CHECK_THAT(html, ContainsSubstring("<dt>Seed</dt><dd>18364758544493064720</dd>"));
  CHECK_THAT(html, ContainsSubstring("<code>" + std::string(64, 'a') + "</code>"));
  CHECK(find_rule("TN-EXE-2")->sentence.starts_with("`execute` MUST NOT "));
  CHECK(count_of(html, "<span class=\"id\">TN-EXE-2</span><code>execute</code> MUST NOT ") == 1);
  CHECK(count_of(html,
                 "<details><summary>SIGSEGV at 0x7f12a4c01000 (behind input 1) in execute, "
                 "call 37, thread 2</summary>") == 1);
  for (std::size_t i = 0; i < num_outcomes; ++i) {
    const std::string name(outcome_name(static_cast<Outcome>(i)));
    CAPTURE(name);
    CHECK(count_of(html, "<tr class=\"" + name + " ") == (name == "passed" ? 2u : 1u));
    CHECK(count_of(html, "id=\"t-" + name + "\"") == 1);
    CHECK(count_of(html, "#t-" + name + ":checked ~ div") == 1);
  }
  CHECK(count_of(html, "<tr class=\"broken bad\">") == 2);
  for (std::size_t i = 0; i < num_rule_states; ++i) {
    const std::string name(rule_state_name(static_cast<RuleState>(i)));
    CHECK(count_of(html, "#r-" + name + ":checked ~ div") == 1);
  }
}

TEST_CASE("the HTML report of a good run names no failures", "[conformance]") {
  const std::string html = to_html(
      sample::report_of({sample::test_of("arguments", "inputs", Outcome::passed, {"TN-EXE-2"})}));
  CHECK_THAT(html, ContainsSubstring("<p class=\"verdict good\">PASS: 1 rule kept"));
  TestResult idle = sample::test_of("lifecycle", "opens", Outcome::passed, {"TN-BCK-5"});
  idle.executed = false;
  const std::string incomplete = to_html(sample::report_of({idle}));
  CHECK_THAT(incomplete, ContainsSubstring("<title>INCOMPLETE: Conformance of zoo"));
  CHECK_THAT(incomplete, ContainsSubstring("<p class=\"verdict bad\">INCOMPLETE: 1 rule kept"));
  CHECK(count_of(html, "<h2>Broken rules</h2>") == 0);
  CHECK(count_of(html, "<tr class=\"kept good\">") == 1);
  CHECK(count_of(html, "id=\"t-failed\"") == 0);
}

TEST_CASE("the HTML report has no external references and no scripts", "[conformance]") {
  const std::string html = to_html(sample::report_with_all_outcomes());
  for (const std::string_view outside : {"<script", "src=", "href=", "url(", "@import",
                                         "http:", "https:", "<link", "<img", "onclick"}) {
    CAPTURE(outside);
    CHECK(count_of(html, outside) == 0);
  }
  CHECK_THAT(html, ContainsSubstring("default-src 'none'; style-src 'unsafe-inline'"));
}

TEST_CASE("no text of a plugin is an element of the HTML report", "[conformance]") {
  const std::string html = to_html(sample::hostile_report());
  CHECK(html == escape::utf8(html));
  CHECK(count_of(html, "<script") == 0);
  CHECK(count_of(html, "</style>") == 1);
  CHECK(count_of(html, "<!--") == 0);
  CHECK(count_of(html, "\xe2\x80\xae") == 0);
  CHECK(count_of(html, "&lt;script&gt;") > 10);
  CHECK(std::ranges::none_of(
      html, [](char c) { return c != '\n' && c != '\t' && static_cast<unsigned char>(c) < 0x20; }));
}

TEST_CASE("the HTML report closes its elements", "[conformance]") {
  for (const Report& report :
       {Report{}, sample::report_with_all_outcomes(), sample::hostile_report()}) {
    const std::string html = to_html(report);
    for (const std::string element :
         {"section", "details", "table",   "tbody", "tr",    "td",  "th",
          "ul",      "li",      "dl",      "dt",    "dd",    "div", "p",
          "pre",     "code",    "summary", "span",  "label", "h2",  "h3"}) {
      CAPTURE(element);
      const std::size_t opened =
          count_of(html, "<" + element + ">") + count_of(html, "<" + element + " ");
      CHECK(opened == count_of(html, "</" + element + ">"));
    }
  }
}

TEST_CASE("plugins of an HTML report have a table each", "[conformance]") {
  const Report report =
      sample::report_of({sample::subject_of("first", {sample::test_of("s", "n", Outcome::passed)}),
                         sample::subject_of("second", {})});
  const std::string html = to_html(report);
  CHECK_THAT(html, ContainsSubstring("<h1>Conformance of 2 plugins</h1>"));
  CHECK(count_of(html, "<h3>first 1.0 by Someone</h3>") == 1);
  CHECK(count_of(html, "<h3>second</h3>\n<p class=\"weak\">No test was run.</p>") == 1);
}

TEST_CASE("long lists and outputs are cut in the HTML report", "[conformance]") {
  TestResult failed = sample::test_of("arguments", "inputs", Outcome::failed);
  for (int i = 0; i < 300; ++i) failed.findings.push_back({"TN-EXE-2", "finding number"});
  failed.output = std::string(1 << 20, '<');
  const std::string html = to_html(sample::report_of({failed}));
  CHECK(count_of(html, "finding number") == 100 + 300);
  CHECK_THAT(html, ContainsSubstring("and 200 more in the table of tests"));
  CHECK_THAT(html, ContainsSubstring("[983040 more bytes]"));
  CHECK(html.size() < 500'000);
}

}  // namespace report_html_test
