// SPDX-License-Identifier: MIT
#include "kit/report/markdown.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/report/escape.hpp"
#include "kit/report/view.hpp"
#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// GitHub drops a summary above 1 MiB, so everything in it has a limit.
class MarkdownReport {
 public:
  MarkdownReport(const Report& report, const ReportOptions& options)
      : report_(report), view_(view_of(report)), options_(options) {}

  [[nodiscard]] std::string take() && {
    out_ = concat("## ", view_.good ? "\xe2\x9c\x85" : "\xe2\x9d\x8c", " ",
                  escape::markdown(view_.verdict), "\n\n");
    subjects();
    counts();
    if (view_.count(RuleState::broken) != 0) out_ += "\n### Broken rules\n";
    std::size_t left_out = 0;
    for (const JudgedRule& rule : view_.rules) {
      if (rule.state != RuleState::broken) continue;
      if (num_lines_ == max_lines) {
        ++left_out;
      } else {
        broken(rule);
      }
    }
    if (left_out != 0) out_ += concat("\nand ", detail::plural(left_out, "more rule"), "\n");
    section(detail::other_failures_title, detail::fails_without_rule);
    section(detail::expected_failures_title, detail::fails_as_expected);
    return std::move(out_);
  }

 private:
  static constexpr std::size_t max_findings = 20;  ///< Of one rule; tests in a section; plugins.
  static constexpr std::size_t max_lines = 100;    ///< Findings of all rules.
  static constexpr std::size_t longest = 300;      ///< Bytes of one text, before it is escaped.

  [[nodiscard]] static std::string safe(std::string_view text) {
    return escape::markdown(escape::cut(text, longest));
  }

  [[nodiscard]] static std::string sentence_of(const JudgedRule& rule) {
    const auto as_code = [](std::string_view name) { return "`" + std::string(name) + "`"; };
    return rule.sentence.empty() ? "Unknown to this kit."
                                 : escape::with_names(rule.sentence, as_code, escape::markdown);
  }

  void subjects() {
    out_ += "| plugin | version | SHA-256 |\n|---|---|---|\n";
    const std::size_t shown = std::min(report_.subjects.size(), max_findings);
    for (std::size_t i = 0; i < shown; ++i) {
      const SubjectReport& subject = report_.subjects[i];
      out_ += concat("| ", safe(view_.subjects[i]), " | ", safe(subject.version), " | ",
                     safe(subject.sha256.substr(0, 16)), " |\n");
    }
    if (shown != report_.subjects.size()) {
      out_ += concat("| and ", report_.subjects.size() - shown, " more | | |\n");
    }
    out_ += concat("\nKit ", safe(report_.kit_version), ", boundary ", safe(report_.abi_version),
                   ", level ", report_.level, ", seed ", report_.seed);
    if (!report_.machine.empty()) out_ += ", " + safe(report_.machine);
    if (options_.with_times) out_ += ", " + detail::seconds_text(report_.seconds);
    out_ += "\n\n";
  }

  void counts() {
    out_ += "| tests | |\n|---|---:|\n";
    for (std::size_t i = 0; i < num_outcomes; ++i) {
      if (view_.outcomes[i] == 0) continue;
      out_ += concat("| ", in_words(outcome_name(static_cast<Outcome>(i))), " | ",
                     view_.outcomes[i], " |\n");
    }
    out_ += concat("\nRules: ", view_.count(RuleState::kept), " kept, ",
                   view_.count(RuleState::broken), " broken, ", view_.count(RuleState::expected),
                   " broken as expected, ", view_.count(RuleState::not_judged), " not judged\n");
  }

  [[nodiscard]] std::string place(std::size_t subject, const TestResult& test) const {
    return safe(detail::place_of(view_, subject, test));
  }

  void broken(const JudgedRule& rule) {
    out_ += concat("\n**", safe(rule.id), "** ", sentence_of(rule));
    if (!rule.source.empty()) out_ += " (" + safe(rule.source) + ")";
    out_ += "\n\n";
    std::size_t shown = 0, left_out = 0;
    for (const Violation& each : rule.violations) {
      if (each.test->outcome == Outcome::expected_failure) continue;
      if (shown == max_findings || num_lines_ == max_lines) {
        ++left_out;
        continue;
      }
      ++shown;
      ++num_lines_;
      out_ += concat("- ", place(each.subject, *each.test), ": ", safe(each.finding->text));
      for (const Crash& crash : each.test->crashes) {
        out_ += " \xe2\x80\x94 " + safe(crash.what);
      }
      out_ += "\n";
    }
    if (left_out != 0) out_ += concat("- and ", left_out, " more\n");
  }

  void section(std::string_view title, bool (*wanted)(const TestResult&)) {
    const std::vector<detail::PlacedTest> tests = detail::tests_where(report_, wanted);
    if (tests.empty()) return;
    const std::size_t shown = std::min(tests.size(), max_findings);
    out_ += concat("\n### ", title, "\n\n");
    for (std::size_t i = 0; i < shown; ++i) {
      const TestResult& test = *tests[i].test;
      out_ +=
          concat("- ", place(tests[i].subject, test), ": ", in_words(outcome_name(test.outcome)),
                 test.reason.empty() ? "" : ": ", safe(test.reason), "\n");
    }
    if (shown != tests.size()) out_ += concat("- and ", tests.size() - shown, " more\n");
  }

  const Report& report_;
  ReportView view_;
  ReportOptions options_;
  std::string out_;
  std::size_t num_lines_ = 0;
};

}  // namespace

std::string to_markdown(const Report& report, const ReportOptions& options) {
  const Report ready = prepared(report, options);
  return MarkdownReport(ready, options).take();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
