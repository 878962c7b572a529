// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/conformance/report_escape.hpp"
#include "tenon/conformance/report_html_style.hpp"
#include "tenon/conformance/report_options.hpp"
#include "tenon/conformance/report_text.hpp"
#include "tenon/conformance/report_view.hpp"

/// Reports as one HTML file. It refers to nothing outside of itself and has no script; a browser is
/// told to load and run nothing, so that a text that were not escaped could do no harm either.
namespace tenon::conformance {

namespace detail {

class HtmlReport {
 public:
  HtmlReport(const Report& report, const ReportOptions& options)
      : report_(report), view_(view_of(report)), options_(options) {}

  [[nodiscard]] std::string take() && {
    head();
    facts();
    broken_rules();
    other_failures();
    expected_failures();
    rules_table();
    tests_table();
    out_ += "</body>\n</html>\n";
    return std::move(out_);
  }

 private:
  /// Findings of one rule beyond these are in the table of tests only.
  static constexpr std::size_t max_findings = 100;
  static constexpr std::size_t max_output = 64 * 1024;

  template <class... Values>
  void add(fmt::format_string<const Values&...> format, const Values&... values) {
    out_ += fmt::format(format, values...);
  }

  [[nodiscard]] static std::string safe(std::string_view text) { return escape::markup(text); }

  [[nodiscard]] static std::string sentence_of(const JudgedRule& rule) {
    const auto as_code = [](std::string_view name) { return "<code>" + safe(name) + "</code>"; };
    return rule.sentence.empty() ? "This kit has no such rule."
                                 : escape::with_names(rule.sentence, as_code, safe);
  }

  [[nodiscard]] std::string title() const {
    if (report_.subjects.size() == 1) {
      return "Conformance of " + subject_title(report_.subjects[0], view_.subjects[0]);
    }
    return "Conformance of " + plural(report_.subjects.size(), "plugin");
  }

  void head() {
    const std::string name = safe(title());
    out_ += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    out_ +=
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n";
    out_ += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    add("<title>{}: {}</title>\n", view_.good ? "PASS" : "FAIL", name);
    add("<style>{}</style>\n</head>\n<body>\n", html_style);
    add("<h1>{}</h1>\n<p class=\"verdict {}\">{}</p>\n", name, view_.good ? "good" : "bad",
        safe(view_.verdict));
  }

  void fact(std::string_view name, std::string_view value, std::string_view element = {}) {
    if (value.empty()) return;
    const std::string text = safe(value);
    if (element.empty()) return add("<dt>{}</dt><dd>{}</dd>\n", name, text);
    add("<dt>{0}</dt><dd><{1}>{2}</{1}></dd>\n", name, element, text);
  }

  void facts() {
    for (std::size_t i = 0; i < report_.subjects.size(); ++i) {
      const SubjectReport& subject = report_.subjects[i];
      if (report_.subjects.size() > 1) {
        add("<h3>{}</h3>\n", safe(subject_title(subject, view_.subjects[i])));
      }
      out_ += "<dl>\n";
      fact("Plugin", subject.path, "code");
      fact("SHA-256", subject.sha256, "code");
      fact("Backends", fmt::format("{}", fmt::join(subject.backends, ", ")));
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
    if (options_.with_times) fact("Took", seconds_text(report_.seconds));
    fact("Machine", report_.machine);
    out_ += "</dl>\n";
  }

  [[nodiscard]] std::string where(std::size_t subject, const TestResult& test) const {
    const std::string path = safe(test.path());
    return report_.subjects.size() > 1 ? safe(view_.subjects[subject]) + ": " + path : path;
  }

  void broken_rules() {
    if (view_.count(RuleState::broken) == 0) return;
    out_ += "<h2>Broken rules</h2>\n";
    for (const JudgedRule& rule : view_.rules) {
      if (rule.state != RuleState::broken) continue;
      out_ += "<section class=\"card bad\">\n";
      add("<p><span class=\"id\">{}</span>{}</p>\n", safe(rule.id), sentence_of(rule));
      if (!rule.source.empty()) {
        add("<p class=\"weak\"><code>{}</code></p>\n", safe(rule.source));
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
        add("<li><code>{}</code><p class=\"found\">{}</p>\n", where(each.subject, *each.test),
            safe(each.finding->text));
        if (detailed_.insert(each.test).second) crashes(*each.test, false);
        out_ += "</li>\n";
      }
      if (left_out != 0) {
        add("<li class=\"weak\">and {} more in the table of tests</li>\n", left_out);
      }
      out_ += "</ul>\n</section>\n";
    }
  }

  void crashes(const TestResult& test, bool open) {
    for (const Crash& crash : test.crashes) {
      const std::string in = crash.in.empty() ? "" : " in " + crash.in;
      add("<details{}><summary>{}</summary>\n", open ? " open" : "", safe(crash.what + in));
      lines("Last calls, oldest first", crash.last_calls);
      lines("Backtrace, innermost first", crash.backtrace);
      out_ += "</details>\n";
    }
  }

  void lines(std::string_view title, const std::vector<std::string>& all) {
    if (all.empty()) return;
    add("<p class=\"weak\">{}</p>\n<pre>{}</pre>\n", title,
        safe(fmt::format("{}", fmt::join(all, "\n"))));
  }

  template <class Wanted>
  void section(std::string_view title, std::string_view style, Wanted&& is_wanted) {
    bool any = false;
    for (std::size_t i = 0; i < report_.subjects.size(); ++i) {
      for (const TestResult& test : report_.subjects[i].tests) {
        if (!is_wanted(test)) continue;
        if (!any) add("<h2>{}</h2>\n<section class=\"card {}\">\n<ul>\n", title, style);
        any = true;
        add("<li><code>{}</code><p class=\"found\">{}{}{}</p>\n", where(i, test),
            in_words(outcome_name(test.outcome)), test.reason.empty() ? "" : ": ",
            safe(test.reason));
        if (detailed_.insert(&test).second) crashes(test, false);
        out_ += "</li>\n";
      }
    }
    if (any) out_ += "</ul>\n</section>\n";
  }

  void other_failures() { section("Failed, but for no rule", "bad", fails_without_rule); }

  void expected_failures() {
    section("Fails, as the subject file says", "odd",
            [](const TestResult& test) { return test.outcome == Outcome::expected_failure; });
  }

  /// One radio button of a filter and its label. Those of which there is none are left out.
  void choice(std::string_view group, std::string_view name, std::string_view words,
              std::size_t count, bool checked = false) {
    if (count == 0 && !checked) return;
    add("<input type=\"radio\" name=\"{0}\" id=\"{0}-{1}\"{2}><label for=\"{0}-{1}\">{3} "
        "{4}</label>\n",
        group, name, checked ? " checked" : "", words, count);
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
        "<th scope=\"col\">Sentence</th></tr></thead>\n<tbody>\n";
    for (const JudgedRule& rule : view_.rules) {
      const std::string_view tone = rule.state == RuleState::kept       ? "good"
                                    : rule.state == RuleState::broken   ? "bad"
                                    : rule.state == RuleState::expected ? "odd"
                                                                        : "none";
      add("<tr class=\"{} {}\"><td class=\"short\"><span class=\"mark\">{}</span></td>"
          "<td class=\"{}\">{}</td><td>{} <code class=\"weak\">{}</code></td></tr>\n",
          rule_state_name(rule.state), tone, state_words(rule.state),
          rule.sentence.empty() ? "long" : "short", safe(rule.id), sentence_of(rule),
          safe(rule.source));
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
      if (report_.subjects.size() > 1) add("<h3>{}</h3>\n", safe(view_.subjects[i]));
      if (subject.tests.empty()) {
        out_ += "<p class=\"weak\">No test was run.</p>\n";
        continue;
      }
      add("<table>\n<thead><tr><th scope=\"col\">Outcome</th><th scope=\"col\">Test</th>"
          "<th scope=\"col\">Rules</th><th scope=\"col\">Level</th>{}</tr></thead>\n<tbody>\n",
          options_.with_times ? "<th scope=\"col\">Time</th>" : "");
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
    add("<tr class=\"{} {}\"><td class=\"short\"><span class=\"mark\">{}</span></td><td>", name,
        tone, in_words(name));
    const bool plain = test.reason.empty() && test.findings.empty() && test.crashes.empty() &&
                       test.output.empty() && test.measurements.empty();
    if (plain) {
      out_ += safe(test.path());
    } else {
      add("<details><summary>{}</summary>\n", safe(test.path()));
      test_details(test);
      out_ += "</details>";
    }
    add("</td><td class=\"rules\">{}</td><td class=\"number\" data-name=\"level\">{}</td>",
        safe(fmt::format("{}", fmt::join(test.rules, ", "))), test.level);
    if (options_.with_times) add("<td class=\"number\">{}</td>", seconds_text(test.seconds));
    out_ += "</tr>\n";
  }

  void test_details(const TestResult& test) {
    if (!test.reason.empty()) add("<p class=\"found\">{}</p>\n", safe(test.reason));
    for (const Finding& finding : test.findings) {
      add("<p class=\"found\"><span class=\"id\">{}</span>{}</p>\n", safe(finding.rule),
          safe(finding.text));
    }
    crashes(test, true);
    if (!test.measurements.empty()) {
      out_ += "<p class=\"weak\">Measured</p>\n<pre>";
      for (const Measurement& each : test.measurements) {
        add("{}: {} {}\n", safe(each.name), each.value, safe(each.unit));
      }
      out_ += "</pre>\n";
    }
    if (!test.output.empty()) {
      add("<p class=\"weak\">Output</p>\n<pre>{}</pre>\n",
          safe(escape::cut(test.output, max_output)));
    }
  }

  const Report& report_;
  ReportView view_;
  ReportOptions options_;
  std::string out_;
  std::set<const TestResult*> detailed_;
};

}  // namespace detail

/// `report` as one HTML file: what was judged, the verdict, each broken rule with what was found,
/// and tables of all rules and all tests with filters.
[[nodiscard]] inline std::string to_html(const Report& report, const ReportOptions& options = {}) {
  const Report ready = prepared(report, options);
  return detail::HtmlReport(ready, options).take();
}

}  // namespace tenon::conformance
