// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/conformance/report_escape.hpp"
#include "tenon/conformance/report_options.hpp"
#include "tenon/conformance/report_view.hpp"

/// Reports for a terminal.
namespace tenon::conformance {

namespace detail {

/// What a piece of text is, for those who see colours. Nothing is said by colour alone.
enum class TextStyle { plain, title, good, bad, odd, weak };

[[nodiscard]] inline std::string styled(std::string_view text, TextStyle style, bool color) {
  if (!color || style == TextStyle::plain) return std::string(text);
  const std::string_view code = style == TextStyle::title  ? "\x1b[1m"
                                : style == TextStyle::good ? "\x1b[32m"
                                : style == TextStyle::bad  ? "\x1b[31m"
                                : style == TextStyle::odd  ? "\x1b[33m"
                                                           : "\x1b[2m";
  return fmt::format("{}{}\x1b[0m", code, text);
}

[[nodiscard]] constexpr TextStyle style_of(Outcome outcome) noexcept {
  if (is_bad(outcome)) return TextStyle::bad;
  if (outcome == Outcome::passed) return TextStyle::good;
  return outcome == Outcome::expected_failure ? TextStyle::odd : TextStyle::weak;
}

/// "0.012 s", "83 s".
[[nodiscard]] inline std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "? s";
  return seconds < 10 ? fmt::format("{:.3f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

/// "hello 1.0 by Someone".
[[nodiscard]] inline std::string subject_title(const SubjectReport& subject,
                                               std::string_view short_name) {
  std::string out(short_name);
  if (!subject.version.empty()) out += " " + subject.version;
  if (!subject.vendor.empty()) out += " by " + subject.vendor;
  return out;
}

/// Tests that are bad and have something to say besides the rules that they found broken.
[[nodiscard]] inline bool fails_without_rule(const TestResult& test) {
  return is_bad(test.outcome) && (test.outcome != Outcome::failed || test.findings.empty());
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
    other_failures();
    expected_failures();
    if (verbose_) {
      not_run();
    } else {
      blocked();
    }
    counts();
    return std::move(out_);
  }

 private:
  /// How much is shown of what may be long when nobody asked for all.
  static constexpr std::size_t few = 8;

  void add(std::string_view text, TextStyle style = TextStyle::plain) {
    out_ += styled(text, style, color_);
  }

  void head() {
    out_ += fmt::format("kit {}, boundary {}, level {}, seed {}", escape::line(report_.kit_version),
                        escape::line(report_.abi_version), report_.level, report_.seed);
    if (!report_.started.empty()) out_ += ", " + escape::line(report_.started);
    if (!report_.machine.empty()) out_ += ", " + escape::line(report_.machine);
    out_ += "\n";
    for (std::size_t i = 0; i < report_.subjects.size(); ++i) {
      const SubjectReport& subject = report_.subjects[i];
      add(escape::line(subject_title(subject, view_.subjects[i])), TextStyle::title);
      out_ += fmt::format(": {}\n", escape::line(subject.path));
      std::string more;
      if (!subject.sdk_version.empty()) more += "  SDK " + subject.sdk_version;
      if (!subject.backends.empty()) {
        more += fmt::format("  backends {}", fmt::join(subject.backends, ", "));
      }
      if (!subject.sha256.empty()) more += "  SHA-256 " + subject.sha256;
      if (!more.empty()) out_ += escape::line(more) + "\n";
    }
  }

  /// "plugin: " where there are several, and the path of the test.
  [[nodiscard]] std::string where(std::size_t subject, const TestResult& test) const {
    const std::string path = escape::line(test.path());
    return report_.subjects.size() > 1 ? escape::line(view_.subjects[subject]) + ": " + path : path;
  }

  void broken(const JudgedRule& rule) {
    out_ += "\n";
    add(escape::line(rule.id), TextStyle::bad);
    out_ += "  ";
    add(rule.sentence.empty() ? "(this kit has no such rule)" : rule.sentence, TextStyle::title);
    out_ += "\n";
    if (!rule.source.empty()) {
      out_ += "  ";
      add(rule.source, TextStyle::weak);
      out_ += "\n";
    }
    std::vector<Violation> shown = rule.violations;
    std::erase_if(shown, [](const Violation& each) {
      return each.test->outcome == Outcome::expected_failure;
    });
    const std::size_t left_out = verbose_ || shown.size() <= few ? 0 : shown.size() - few;
    shown.resize(shown.size() - left_out);
    for (const Violation& each : shown) {
      out_ += fmt::format("  {}\n{}", where(each.subject, *each.test),
                          escape::block(escape::line(each.finding->text), "    "));
      details(*each.test);
    }
    if (left_out != 0) out_ += fmt::format("  and {} more\n", left_out);
  }

  /// How the test's process ended and what it printed, once for a test with several findings.
  void details(const TestResult& test) {
    if (!detailed_.insert(&test).second) return;
    for (const Crash& crash : test.crashes) {
      out_ += "    ";
      add(escape::line(crash.what), TextStyle::bad);
      if (!crash.in.empty()) out_ += " in " + escape::line(crash.in);
      out_ += "\n";
      lines("last calls, oldest first", crash.last_calls, true);
      lines("backtrace, innermost first", crash.backtrace, false);
    }
    if (verbose_ && !test.output.empty()) {
      add("    output:\n", TextStyle::weak);
      out_ += escape::block(test.output, "      ");
    }
  }

  /// The last of `all`, or the first.
  void lines(std::string_view title, const std::vector<std::string>& all, bool newest) {
    if (all.empty()) return;
    const std::size_t count = verbose_ ? all.size() : std::min(all.size(), few);
    const std::size_t from = newest ? all.size() - count : 0;
    add(count == all.size() ? fmt::format("    {}:\n", title)
                            : fmt::format("    {} ({} of {}):\n", title, count, all.size()),
        TextStyle::weak);
    for (std::size_t i = from; i < from + count; ++i) {
      out_ += fmt::format("      {}\n", escape::line(all[i]));
    }
  }

  template <class Wanted>
  void section(std::string_view title, Wanted&& is_wanted, bool with_details) {
    bool any = false;
    for (std::size_t i = 0; i < report_.subjects.size(); ++i) {
      for (const TestResult& test : report_.subjects[i].tests) {
        if (!is_wanted(test)) continue;
        if (!any) {
          out_ += "\n";
          add(title, TextStyle::title);
          out_ += "\n";
        }
        any = true;
        out_ += fmt::format("  {}: ", where(i, test));
        add(in_words(outcome_name(test.outcome)), style_of(test.outcome));
        if (!test.reason.empty()) out_ += ": " + escape::line(test.reason);
        out_ += "\n";
        if (with_details) details(test);
      }
    }
  }

  void other_failures() { section("Failed, but for no rule", fails_without_rule, true); }

  void expected_failures() {
    const auto is_wanted = [](const TestResult& test) {
      return test.outcome == Outcome::expected_failure;
    };
    section("Fails, as the subject file says", is_wanted, false);
  }

  void not_run() {
    const auto is_wanted = [](const TestResult& test) {
      return !is_judged(test.outcome) && !is_bad(test.outcome);
    };
    section("Not judged", is_wanted, false);
  }

  /// Something is wrong that kept these from being judged, and often it is one thing for all.
  void blocked() {
    std::map<std::string_view, std::size_t> reasons;
    for (const SubjectReport& subject : report_.subjects) {
      for (const TestResult& test : subject.tests) {
        if (test.outcome == Outcome::blocked) ++reasons[test.reason];
      }
    }
    if (reasons.empty()) return;
    out_ += "\n";
    add("Blocked", TextStyle::title);
    out_ += "\n";
    for (const auto& [reason, count] : reasons) {
      out_ += fmt::format("  {}: {}\n", plural(count, "test"), escape::line(reason));
    }
  }

  void counts() {
    std::vector<std::string> outcomes, states;
    for (std::size_t i = 0; i < num_outcomes; ++i) {
      const auto outcome = static_cast<Outcome>(i);
      if (view_.outcomes[i] == 0) continue;
      outcomes.push_back(
          styled(fmt::format("{} {}", view_.outcomes[i], in_words(outcome_name(outcome))),
                 style_of(outcome), color_));
    }
    for (std::size_t i = 0; i < num_rule_states; ++i) {
      if (view_.states[i] == 0) continue;
      const std::string_view name = rule_state_name(static_cast<RuleState>(i));
      states.push_back(fmt::format("{} {}", view_.states[i],
                                   name == "expected" ? "broken as expected" : in_words(name)));
    }
    out_ += fmt::format("\n{}: {}", plural(view_.num_tests, "test"), fmt::join(outcomes, ", "));
    if (options_.with_times) out_ += fmt::format(" in {}", seconds_text(report_.seconds));
    out_ += fmt::format("\n{}: {}\n", plural(view_.rules.size(), "rule"), fmt::join(states, ", "));
    add(view_.verdict, view_.good ? TextStyle::good : TextStyle::bad);
    out_ += "\n";
  }

  const Report& report_;
  ReportView view_;
  bool color_, verbose_;
  ReportOptions options_;
  std::string out_;
  std::set<const TestResult*> detailed_;
};

}  // namespace detail

/// "[ 37/212] arguments/inputs are as they were after a run/ZooBackend/add ... failed (TN-EXE-2)":
/// one line of progress, without a line feed. `number` counts from 1.
[[nodiscard]] inline std::string progress_line(std::size_t number, std::size_t total,
                                               const TestResult& test, bool color,
                                               const ReportOptions& options = {}) {
  const std::size_t width = std::to_string(total).size();
  std::string out =
      fmt::format("[{:>{}}/{}] {} ... ", number, width, total, escape::line(test.path()));
  out +=
      detail::styled(in_words(outcome_name(test.outcome)), detail::style_of(test.outcome), color);
  std::vector<std::string> broken;
  for (const Finding& finding : test.findings) {
    const std::string id = escape::line(finding.rule);
    if (std::ranges::find(broken, id) == broken.end()) broken.push_back(id);
  }
  if (!broken.empty()) out += fmt::format(" ({})", fmt::join(broken, ", "));
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

/// `report` for a terminal: each broken rule once, with what was found, then how many tests ended
/// in each way, and in the last line whether the run was a good one. `verbose`: all findings, calls
/// and frames, what failing tests printed, and why tests did not run.
[[nodiscard]] inline std::string to_text(const Report& report, bool color, bool verbose,
                                         const ReportOptions& options = {}) {
  const Report ready = prepared(report, options);
  return detail::TextReport(ready, color, verbose, options).take();
}

}  // namespace tenon::conformance
