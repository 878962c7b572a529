// SPDX-License-Identifier: MIT
#include "kit/report/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "kit/report/escape.hpp"
#include "kit/report/view.hpp"
#include "kit/verdict/verdict.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace detail {

std::string styled(std::string_view text, TextStyle style, bool color) {
  if (!color || style == TextStyle::plain) return std::string(text);
  const std::string_view code = style == TextStyle::title  ? "\x1b[1m"
                                : style == TextStyle::good ? "\x1b[32m"
                                : style == TextStyle::bad  ? "\x1b[31m"
                                : style == TextStyle::odd  ? "\x1b[33m"
                                                           : "\x1b[2m";
  return concat(code, text, "\x1b[0m");
}

}  // namespace detail

namespace {

[[nodiscard]] constexpr detail::TextStyle style_of(Outcome outcome) noexcept {
  if (is_bad(outcome)) return detail::TextStyle::bad;
  if (outcome == Outcome::passed) return detail::TextStyle::good;
  return outcome == Outcome::expected_failure ? detail::TextStyle::odd : detail::TextStyle::weak;
}

/// Writes a report for a terminal, part by part.
class TextReport {
 public:
  TextReport(const Report& report, bool color, bool verbose, const ReportOptions& options)
      : report_(report),
        view_(view_of(report)),
        color_(color),
        verbose_(verbose),
        options_(options) {}

  [[nodiscard]] std::string take() && {
    head();
    for (const JudgedRule& rule : view_.rules) {
      if (rule.state == RuleState::broken) broken(rule);
    }
    section(detail::other_failures_title, detail::fails_without_rule, true);
    section(detail::expected_failures_title, detail::fails_as_expected, false);
    if (verbose_) {
      section("Not judged", detail::was_not_judged, false);
    } else {
      blocked();
    }
    counts();
    return std::move(out_);
  }

 private:
  /// The number of lines that are shown of a long list unless `verbose`.
  static constexpr std::size_t few = 8;

  void add(std::string_view text, detail::TextStyle style = detail::TextStyle::plain) {
    out_ += detail::styled(text, style, color_);
  }

  void head() {
    out_ += concat("kit ", escape::line(report_.kit_version), ", boundary ",
                   escape::line(report_.abi_version), ", level ", report_.level, ", seed ",
                   report_.seed);
    if (!report_.started.empty()) out_ += ", " + escape::line(report_.started);
    if (!report_.machine.empty()) out_ += ", " + escape::line(report_.machine);
    out_ += "\n";
    for (std::size_t i = 0; i < report_.subjects.size(); ++i) {
      const SubjectReport& subject = report_.subjects[i];
      add(escape::line(detail::subject_title(subject, view_.subjects[i])),
          detail::TextStyle::title);
      out_ += ": " + escape::line(subject.path) + "\n";
      std::string more;
      if (!subject.sdk_version.empty()) more += "  SDK " + subject.sdk_version;
      if (!subject.backends.empty()) more += "  backends " + join(subject.backends, ", ");
      if (!subject.sha256.empty()) more += "  SHA-256 " + subject.sha256;
      if (!more.empty()) out_ += escape::line(more) + "\n";
    }
  }

  [[nodiscard]] std::string place(std::size_t subject, const TestResult& test) const {
    return escape::line(detail::place_of(view_, subject, test));
  }

  void broken(const JudgedRule& rule) {
    out_ += "\n";
    add(escape::line(rule.id), detail::TextStyle::bad);
    out_ += "  ";
    add(rule.sentence.empty() ? "(unknown to this kit)" : rule.sentence, detail::TextStyle::title);
    out_ += "\n";
    if (!rule.source.empty()) {
      out_ += "  ";
      add(rule.source, detail::TextStyle::weak);
      out_ += "\n";
    }
    std::size_t shown = 0, left_out = 0;
    for (const Violation& each : rule.violations) {
      if (each.test->outcome == Outcome::expected_failure) continue;
      if (shown == few && !verbose_) {
        ++left_out;
        continue;
      }
      ++shown;
      out_ += "  " + place(each.subject, *each.test) + "\n";
      out_ += escape::block(escape::line(each.finding->text), "    ");
      details(*each.test);
    }
    if (left_out != 0) out_ += concat("  and ", left_out, " more\n");
  }

  /// How the test's process ended, and its output, once for a test with several findings.
  void details(const TestResult& test) {
    if (!detailed_.insert(&test).second) return;
    for (const Crash& crash : test.crashes) {
      out_ += "    ";
      add(escape::line(crash.what), detail::TextStyle::bad);
      if (!crash.in.empty()) out_ += " in " + escape::line(crash.in);
      out_ += "\n";
      lines("last calls, oldest first", crash.last_calls, true);
      lines("backtrace, innermost first", crash.backtrace, false);
    }
    if (verbose_ && !test.output.empty()) {
      add("    output:\n", detail::TextStyle::weak);
      out_ += escape::block(test.output, "      ");
    }
  }

  /// The last of `all`, or the first.
  void lines(std::string_view title, const std::vector<std::string>& all, bool newest) {
    if (all.empty()) return;
    const std::size_t count = verbose_ ? all.size() : std::min(all.size(), few);
    const std::size_t from = newest ? all.size() - count : 0;
    add(count == all.size() ? concat("    ", title, ":\n")
                            : concat("    ", title, " (", count, " of ", all.size(), "):\n"),
        detail::TextStyle::weak);
    for (std::size_t i = from; i < from + count; ++i) {
      out_ += "      " + escape::line(all[i]) + "\n";
    }
  }

  void section_title(std::string_view title) {
    out_ += "\n";
    add(title, detail::TextStyle::title);
    out_ += "\n";
  }

  void section(std::string_view title, bool (*wanted)(const TestResult&), bool with_details) {
    const std::vector<detail::PlacedTest> tests = detail::tests_where(report_, wanted);
    if (!tests.empty()) section_title(title);
    for (const auto& [subject, test] : tests) {
      out_ += "  " + place(subject, *test) + ": ";
      add(in_words(outcome_name(test->outcome)), style_of(test->outcome));
      if (!test->reason.empty()) out_ += ": " + escape::line(test->reason);
      out_ += "\n";
      if (with_details) details(*test);
    }
  }

  /// One line for each reason: often it is the same for all tests.
  void blocked() {
    std::map<std::string_view, std::size_t> reasons;
    for (const SubjectReport& subject : report_.subjects) {
      for (const TestResult& test : subject.tests) {
        if (test.outcome == Outcome::blocked) ++reasons[test.reason];
      }
    }
    if (!reasons.empty()) section_title("Blocked");
    for (const auto& [reason, count] : reasons) {
      out_ += concat("  ", detail::plural(count, "test"), ": ", escape::line(reason), "\n");
    }
  }

  void counts() {
    std::vector<std::string> outcomes, states;
    for (std::size_t i = 0; i < num_outcomes; ++i) {
      const auto outcome = static_cast<Outcome>(i);
      if (view_.outcomes[i] == 0) continue;
      outcomes.push_back(
          detail::styled(concat(view_.outcomes[i], " ", in_words(outcome_name(outcome))),
                         style_of(outcome), color_));
    }
    for (std::size_t i = 0; i < num_rule_states; ++i) {
      if (view_.states[i] == 0) continue;
      const std::string_view name = rule_state_name(static_cast<RuleState>(i));
      states.push_back(
          concat(view_.states[i], " ", name == "expected" ? "broken as expected" : in_words(name)));
    }
    out_ += concat("\n", detail::plural(view_.num_tests, "test"), ": ", join(outcomes, ", "));
    if (options_.with_times) out_ += " in " + detail::seconds_text(report_.seconds);
    out_ +=
        concat("\n", detail::plural(view_.rules.size(), "rule"), ": ", join(states, ", "), "\n");
    add(view_.verdict, view_.good ? detail::TextStyle::good : detail::TextStyle::bad);
    out_ += "\n";
  }

  const Report& report_;
  ReportView view_;
  bool color_, verbose_;
  ReportOptions options_;
  std::string out_;
  std::set<const TestResult*> detailed_;
};

}  // namespace

std::string progress_line(std::size_t number, std::size_t total, const TestResult& test, bool color,
                          const ReportOptions& options) {
  const std::string last = std::to_string(total), current = std::to_string(number);
  const std::string padding(last.size() - std::min(last.size(), current.size()), ' ');
  std::string out =
      concat("[", padding, current, "/", last, "] ", escape::line(test.path()), " ... ");
  out += detail::styled(in_words(outcome_name(test.outcome)), style_of(test.outcome), color);
  std::vector<std::string> broken;
  for (const Finding& finding : test.findings) {
    std::string id = escape::line(finding.rule);
    if (std::find(broken.begin(), broken.end(), id) == broken.end()) {
      broken.push_back(std::move(id));
    }
  }
  if (!broken.empty()) out += " (" + join(broken, ", ") + ")";
  if (broken.empty() && is_bad(test.outcome) && !test.reason.empty()) {
    out += ": " + escape::line(test.reason);
  }
  constexpr double slow = 1;
  if (options.with_times && test.seconds >= slow) {
    out +=
        detail::styled(", " + detail::seconds_text(test.seconds), detail::TextStyle::weak, color);
  }
  return out;
}

std::string to_text(const Report& report, bool color, bool verbose, const ReportOptions& options) {
  const Report ready = prepared(report, options);
  return TextReport(ready, color, verbose, options).take();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
