// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/conformance/report_escape.hpp"
#include "tenon/conformance/report_options.hpp"
#include "tenon/conformance/report_text.hpp"
#include "tenon/conformance/report_view.hpp"

/// A summary of a report in GitHub's Markdown, for `$GITHUB_STEP_SUMMARY` or a comment.
namespace tenon::conformance {

namespace detail {

/// GitHub drops a summary of more than 1 MiB, so everything in it has a limit.
class MarkdownReport {
 public:
  MarkdownReport(const Report& report, const ReportOptions& options)
      : report_(report), view_(view_of(report)), options_(options) {}

  [[nodiscard]] std::string take() && {
    out_ = fmt::format("## {} {}\n\n", view_.good ? "\xe2\x9c\x85" : "\xe2\x9d\x8c",
                       escape::markdown(view_.verdict));
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
    if (left_out != 0) out_ += fmt::format("\nand {}\n", plural(left_out, "more rule"));
    section("Failed, but for no rule", fails_without_rule);
    section("Fails, as the subject file says",
            [](const TestResult& test) { return test.outcome == Outcome::expected_failure; });
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
    return rule.sentence.empty() ? "This kit has no such rule."
                                 : escape::with_names(rule.sentence, as_code, escape::markdown);
  }

  void subjects() {
    out_ += "| plugin | version | SHA-256 |\n|---|---|---|\n";
    const std::size_t shown = std::min(report_.subjects.size(), max_findings);
    for (std::size_t i = 0; i < shown; ++i) {
      const SubjectReport& subject = report_.subjects[i];
      out_ += fmt::format("| {} | {} | {} |\n", safe(view_.subjects[i]), safe(subject.version),
                          safe(subject.sha256.substr(0, 16)));
    }
    if (shown != report_.subjects.size()) {
      out_ += fmt::format("| and {} more | | |\n", report_.subjects.size() - shown);
    }
    out_ += fmt::format("\nKit {}, boundary {}, level {}, seed {}", safe(report_.kit_version),
                        safe(report_.abi_version), report_.level, report_.seed);
    if (!report_.machine.empty()) out_ += ", " + safe(report_.machine);
    if (options_.with_times) out_ += ", " + seconds_text(report_.seconds);
    out_ += "\n\n";
  }

  void counts() {
    out_ += "| tests | |\n|---|---:|\n";
    for (std::size_t i = 0; i < num_outcomes; ++i) {
      if (view_.outcomes[i] == 0) continue;
      out_ += fmt::format("| {} | {} |\n", in_words(outcome_name(static_cast<Outcome>(i))),
                          view_.outcomes[i]);
    }
    out_ += fmt::format("\nRules: {} kept, {} broken, {} broken as expected, {} not judged\n",
                        view_.count(RuleState::kept), view_.count(RuleState::broken),
                        view_.count(RuleState::expected), view_.count(RuleState::not_judged));
  }

  [[nodiscard]] std::string where(std::size_t subject, const TestResult& test) const {
    const std::string path = safe(test.path());
    return report_.subjects.size() > 1 ? safe(view_.subjects[subject]) + ": " + path : path;
  }

  void broken(const JudgedRule& rule) {
    out_ += fmt::format("\n**{}** {}", safe(rule.id), sentence_of(rule));
    if (!rule.source.empty()) out_ += fmt::format(" ({})", safe(rule.source));
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
      out_ += fmt::format("- {}: {}", where(each.subject, *each.test), safe(each.finding->text));
      for (const Crash& crash : each.test->crashes) {
        out_ += fmt::format(" \xe2\x80\x94 {}", safe(crash.what));
      }
      out_ += "\n";
    }
    if (left_out != 0) out_ += fmt::format("- and {} more\n", left_out);
  }

  template <class Wanted>
  void section(std::string_view title, Wanted&& is_wanted) {
    std::size_t shown = 0, left_out = 0;
    for (std::size_t i = 0; i < report_.subjects.size(); ++i) {
      for (const TestResult& test : report_.subjects[i].tests) {
        if (!is_wanted(test)) continue;
        if (shown == 0) out_ += fmt::format("\n### {}\n\n", title);
        if (shown == max_findings) {
          ++left_out;
          continue;
        }
        ++shown;
        out_ += fmt::format("- {}: {}{}{}\n", where(i, test), in_words(outcome_name(test.outcome)),
                            test.reason.empty() ? "" : ": ", safe(test.reason));
      }
    }
    if (left_out != 0) out_ += fmt::format("- and {} more\n", left_out);
  }

  const Report& report_;
  ReportView view_;
  ReportOptions options_;
  std::string out_;
  std::size_t num_lines_ = 0;
};

}  // namespace detail

/// A summary of `report` in GitHub's Markdown, well under the 1 MiB that GitHub takes.
[[nodiscard]] inline std::string to_markdown(const Report& report,
                                             const ReportOptions& options = {}) {
  const Report ready = prepared(report, options);
  return detail::MarkdownReport(ready, options).take();
}

}  // namespace tenon::conformance
