// SPDX-License-Identifier: MIT
#include "kit/report/html.hpp"

#include <cstddef>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/report/escape.hpp"
#include "kit/report/html_style.hpp"
#include "kit/report/view.hpp"
#include "kit/verdict/verdict.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

class HtmlReport {
 public:
  HtmlReport(const Report& report, const ReportOptions& options)
      : report_(report), view_(view_of(report)), options_(options) {}

  [[nodiscard]] std::string take() && {
    head();
    facts();
    broken_rules();
    section(detail::other_failures_title, "bad", detail::fails_without_rule);
    section(detail::expected_failures_title, "odd", detail::fails_as_expected);
    rules_table();
    tests_table();
    out_ += "</body>\n</html>\n";
    return std::move(out_);
  }

 private:
  /// Of one rule; further ones are only in the table of tests.
  static constexpr std::size_t max_findings = 100;
  static constexpr std::size_t max_output = 64 * 1024;

  template <class... Pieces>
  void add(const Pieces&... pieces) {
    (out_.append(pieces), ...);
  }

  [[nodiscard]] static std::string safe(std::string_view text) { return escape::markup(text); }

  [[nodiscard]] static std::string sentence_of(const JudgedRule& rule) {
    const auto as_code = [](std::string_view name) { return "<code>" + safe(name) + "</code>"; };
    return rule.sentence.empty() ? "Unknown to this kit."
                                 : escape::with_names(rule.sentence, as_code, safe);
  }

  [[nodiscard]] std::string title() const {
    if (report_.subjects.size() == 1) {
      return "Conformance of " + detail::subject_title(report_.subjects[0], view_.subjects[0]);
    }
    return "Conformance of " + detail::plural(report_.subjects.size(), "plugin");
  }

  void head() {
    const std::string name = safe(title());
    out_ += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    out_ +=
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n";
    out_ += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    add("<title>", view_.verdict.substr(0, view_.verdict.find(':')), ": ", name, "</title>\n");
    add("<style>", detail::html_style, "</style>\n</head>\n<body>\n");
    add("<h1>", name, "</h1>\n<p class=\"verdict ", view_.good ? "good" : "bad", "\">",
        safe(view_.verdict), "</p>\n");
  }

  void fact(std::string_view name, std::string_view value, std::string_view element = {}) {
    if (value.empty()) return;
    const std::string text = safe(value);
    if (element.empty()) return add("<dt>", name, "</dt><dd>", text, "</dd>\n");
    add("<dt>", name, "</dt><dd><", element, ">", text, "</", element, "></dd>\n");
  }

  void facts() {
    for (std::size_t i = 0; i < report_.subjects.size(); ++i) {
      const SubjectReport& subject = report_.subjects[i];
      if (report_.subjects.size() > 1) {
        add("<h3>", safe(detail::subject_title(subject, view_.subjects[i])), "</h3>\n");
      }
      out_ += "<dl>\n";
      fact("Plugin", subject.path, "code");
      fact("SHA-256", subject.sha256, "code");
      fact("Backends", join(subject.backends, ", "));
      fact("Built with SDK", subject.sdk_version);
      out_ += "</dl>\n";
    }
    if (report_.subjects.size() > 1) out_ += "<h3>This run</h3>\n";
    out_ += "<dl>\n";
    fact("Kit", report_.kit_version);
    fact("Boundary", report_.abi_version);
    fact("Level", std::to_string(report_.level));
    fact("Seed", std::to_string(report_.seed));
    fact("Started", report_.started);
    if (options_.with_times) fact("Took", detail::seconds_text(report_.seconds));
    fact("Machine", report_.machine);
    out_ += "</dl>\n";
  }

  [[nodiscard]] std::string place(std::size_t subject, const TestResult& test) const {
    return safe(detail::place_of(view_, subject, test));
  }

  void broken_rules() {
    if (view_.count(RuleState::broken) == 0) return;
    out_ += "<h2>Broken rules</h2>\n";
    for (const JudgedRule& rule : view_.rules) {
      if (rule.state != RuleState::broken) continue;
      out_ += "<section class=\"card bad\">\n";
      add("<p><span class=\"id\">", safe(rule.id), "</span>", sentence_of(rule), "</p>\n");
      if (!rule.source.empty()) {
        add("<p class=\"weak\"><code>", safe(rule.source), "</code></p>\n");
      }
      out_ += "<ul>\n";
      std::size_t shown = 0, left_out = 0;
      for (const Violation& each : rule.violations) {
        if (each.test->outcome == Outcome::expected_failure) continue;
        if (shown == max_findings) {
          ++left_out;
          continue;
        }
        ++shown;
        add("<li><code>", place(each.subject, *each.test), "</code><p class=\"found\">",
            safe(each.finding->text), "</p>\n");
        if (detailed_.insert(each.test).second) crashes(*each.test, false);
        out_ += "</li>\n";
      }
      if (left_out != 0) {
        add("<li class=\"weak\">and ", std::to_string(left_out),
            " more in the table of tests</li>\n");
      }
      out_ += "</ul>\n</section>\n";
    }
  }

  void crashes(const TestResult& test, bool open) {
    for (const Crash& crash : test.crashes) {
      const std::string in = crash.in.empty() ? "" : " in " + crash.in;
      add("<details", open ? " open" : "", "><summary>", safe(crash.what + in), "</summary>\n");
      lines("Last calls, oldest first", crash.last_calls);
      lines("Backtrace, innermost first", crash.backtrace);
      out_ += "</details>\n";
    }
  }

  void lines(std::string_view title, const std::vector<std::string>& all) {
    if (all.empty()) return;
    add("<p class=\"weak\">", title, "</p>\n<pre>", safe(join(all, "\n")), "</pre>\n");
  }

  void section(std::string_view title, std::string_view style, bool (*wanted)(const TestResult&)) {
    const std::vector<detail::PlacedTest> tests = detail::tests_where(report_, wanted);
    if (tests.empty()) return;
    add("<h2>", title, "</h2>\n<section class=\"card ", style, "\">\n<ul>\n");
    for (const auto& [subject, test] : tests) {
      add("<li><code>", place(subject, *test), "</code><p class=\"found\">",
          in_words(outcome_name(test->outcome)), test->reason.empty() ? "" : ": ",
          safe(test->reason), "</p>\n");
      if (detailed_.insert(test).second) crashes(*test, false);
      out_ += "</li>\n";
    }
    out_ += "</ul>\n</section>\n";
  }

  /// One radio button of a filter and its label. Left out when `count` is 0.
  void choice(std::string_view group, std::string_view name, std::string_view words,
              std::size_t count, bool checked = false) {
    if (count == 0 && !checked) return;
    const std::string id = concat(group, "-", name);
    add("<input type=\"radio\" name=\"", group, "\" id=\"", id, "\"", checked ? " checked" : "",
        "><label for=\"", id, "\">", words, " ", std::to_string(count), "</label>\n");
  }

  void rules_table() {
    out_ += "<h2>Rules</h2>\n<div class=\"filter\">\n";
    choice("r", "all", "all", view_.rules.size(), true);
    for (const RuleState state :
         {RuleState::broken, RuleState::expected, RuleState::kept, RuleState::not_judged}) {
      choice("r", rule_state_name(state), state_words(state), view_.count(state));
    }
    out_ +=
        "<div>\n<table>\n<thead><tr><th scope=\"col\">State</th><th scope=\"col\">Rule</th>"
        "<th scope=\"col\">Text</th></tr></thead>\n<tbody>\n";
    for (const JudgedRule& rule : view_.rules) {
      const std::string_view tone = rule.state == RuleState::kept       ? "good"
                                    : rule.state == RuleState::broken   ? "bad"
                                    : rule.state == RuleState::expected ? "odd"
                                                                        : "none";
      add("<tr class=\"", rule_state_name(rule.state), " ", tone,
          "\"><td class=\"short\"><span class=\"mark\">", state_words(rule.state),
          "</span></td><td class=\"", rule.sentence.empty() ? "long" : "short", "\">",
          safe(rule.id), "</td><td>", sentence_of(rule), " <code class=\"weak\">",
          safe(rule.source), "</code></td></tr>\n");
    }
    out_ += "</tbody>\n</table>\n</div>\n</div>\n";
  }

  [[nodiscard]] static std::string state_words(RuleState state) {
    return state == RuleState::expected ? "broken as expected" : in_words(rule_state_name(state));
  }

  void tests_table() {
    out_ += "<h2>Tests</h2>\n<div class=\"filter\">\n";
    choice("t", "all", "all", view_.num_tests, true);
    for (const Outcome outcome :
         {Outcome::failed, Outcome::unexpected_pass, Outcome::kit_error, Outcome::expected_failure,
          Outcome::passed, Outcome::blocked, Outcome::unsupported, Outcome::not_applicable}) {
      choice("t", outcome_name(outcome), in_words(outcome_name(outcome)), view_.count(outcome));
    }
    out_ += "<div>\n";
    for (std::size_t i = 0; i < report_.subjects.size(); ++i) {
      const SubjectReport& subject = report_.subjects[i];
      if (report_.subjects.size() > 1) add("<h3>", safe(view_.subjects[i]), "</h3>\n");
      if (subject.tests.empty()) {
        out_ += "<p class=\"weak\">No test was run.</p>\n";
        continue;
      }
      add("<table>\n<thead><tr><th scope=\"col\">Outcome</th><th scope=\"col\">Test</th>"
          "<th scope=\"col\">Rules</th><th scope=\"col\">Level</th>",
          options_.with_times ? "<th scope=\"col\">Time</th>" : "", "</tr></thead>\n<tbody>\n");
      for (const TestResult& test : subject.tests) test_row(test);
      out_ += "</tbody>\n</table>\n";
    }
    out_ += "</div>\n</div>\n";
  }

  void test_row(const TestResult& test) {
    const std::string_view name = outcome_name(test.outcome);
    const std::string_view tone = is_bad(test.outcome)                        ? "bad"
                                  : test.outcome == Outcome::passed           ? "good"
                                  : test.outcome == Outcome::expected_failure ? "odd"
                                                                              : "none";
    add("<tr class=\"", name, " ", tone, "\"><td class=\"short\"><span class=\"mark\">",
        in_words(name), "</span></td><td>");
    const bool plain = test.reason.empty() && test.findings.empty() && test.crashes.empty() &&
                       test.output.empty() && test.measurements.empty();
    if (plain) {
      out_ += safe(title_of(test));
    } else {
      add("<details><summary>", safe(title_of(test)), "</summary>\n");
      test_details(test);
      out_ += "</details>";
    }
    add("</td><td class=\"rules\">", safe(join(test.rules, ", ")),
        "</td><td class=\"number\" data-name=\"level\">", std::to_string(test.level), "</td>");
    if (options_.with_times)
      add("<td class=\"number\">", detail::seconds_text(test.seconds), "</td>");
    out_ += "</tr>\n";
  }

  void test_details(const TestResult& test) {
    if (!test.reason.empty()) add("<p class=\"found\">", safe(test.reason), "</p>\n");
    for (const Finding& finding : test.findings) {
      add("<p class=\"found\"><span class=\"id\">", safe(finding.rule), "</span>",
          safe(finding.text), "</p>\n");
    }
    crashes(test, true);
    if (!test.measurements.empty()) {
      out_ += "<p class=\"weak\">Measured</p>\n<pre>";
      for (const Measurement& each : test.measurements) {
        add(safe(each.name), ": ", detail::number_text(each.value), " ", safe(each.unit), "\n");
      }
      out_ += "</pre>\n";
    }
    if (!test.output.empty()) {
      add("<p class=\"weak\">Output</p>\n<pre>", safe(escape::cut(test.output, max_output)),
          "</pre>\n");
    }
  }

  const Report& report_;
  ReportView view_;
  ReportOptions options_;
  std::string out_;
  std::set<const TestResult*> detailed_;
};

}  // namespace

std::string to_html(const Report& report, const ReportOptions& options) {
  const Report ready = prepared(report, options);
  return HtmlReport(ready, options).take();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
