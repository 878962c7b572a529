// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/conformance/report_escape.hpp"
#include "tenon/conformance/report_options.hpp"
#include "tenon/conformance/report_view.hpp"

/// Reports as JUnit XML, in the form that Jenkins (the schema junit-10.xsd of its xUnit plugin),
/// GitLab and GitHub's actions read. That form has four ways to end:
///
///   passed                                               no element
///   failed, unexpected pass                              failure
///   error of the kit                                     error
///   expected failure, unsupported, not applicable, blocked   skipped
///
/// A suite is one suite of one plugin. GitLab drops a test whose name another has; names of tests
/// are their paths, which are unlike each other in one plugin, and `classname` names the plugin.
namespace tenon::conformance {

namespace detail {

/// Of one suite, or of all.
struct JunitCounts {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;

  void add(const TestResult& test) {
    ++tests;
    if (std::isfinite(test.seconds) && test.seconds > 0) seconds += test.seconds;
    if (test.outcome == Outcome::kit_error) {
      ++errors;
    } else if (is_bad(test.outcome)) {
      ++failures;
    } else if (test.outcome != Outcome::passed) {
      ++skipped;
    }
  }
};

/// Longest output of a test that is shown; GitLab reads files of up to 30 MB.
inline constexpr std::size_t max_shown_output = 64 * 1024;

class JunitReport {
 public:
  JunitReport(const Report& report, const ReportOptions& options)
      : report_(report), view_(view_of(report)), options_(options) {}

  [[nodiscard]] std::string take() && {
    JunitCounts all;
    for (std::size_t i = 0; i < report_.subjects.size(); ++i) {
      for (const Suite& suite : suites_of(report_.subjects[i])) {
        add_suite(i, suite);
        for (const TestResult* test : suite.tests) all.add(*test);
      }
    }
    const std::string_view head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    return fmt::format(
        "{}<testsuites name=\"tenon-conformance\" tests=\"{}\" failures=\"{}\" errors=\"{}\"{}>\n"
        "{}</testsuites>\n",
        head, all.tests, all.failures, all.errors, time(all.seconds), out_);
  }

 private:
  struct Suite {
    std::string name;
    std::vector<const TestResult*> tests;
  };

  [[nodiscard]] static std::vector<Suite> suites_of(const SubjectReport& subject) {
    std::vector<Suite> out;
    for (const TestResult& test : subject.tests) {
      auto found =
          std::ranges::find_if(out, [&](const Suite& each) { return each.name == test.suite; });
      if (found == out.end()) found = out.insert(found, {test.suite, {}});
      found->tests.push_back(&test);
    }
    return out;
  }

  [[nodiscard]] std::string time(double seconds) const {
    return options_.with_times ? fmt::format(" time=\"{:.3f}\"", seconds) : "";
  }

  /// "2026-11-21T15:30:00Z" without its zone, which the format does not have.
  [[nodiscard]] std::string timestamp() const {
    std::string_view date = report_.started;
    if (date.ends_with('Z')) date.remove_suffix(1);
    return date.empty() ? "" : fmt::format(" timestamp=\"{}\"", escape::xml_attribute(date));
  }

  void add_suite(std::size_t subject, const Suite& suite) {
    JunitCounts counts;
    for (const TestResult* test : suite.tests) counts.add(*test);
    const std::string plugin = escape::xml_attribute(view_.subjects[subject]);
    const std::string name = escape::xml_attribute(suite.name);
    out_ += fmt::format(
        "  <testsuite name=\"{}: {}\" id=\"{}\" package=\"{}\" tests=\"{}\" failures=\"{}\" "
        "errors=\"{}\" skipped=\"{}\"{}{} hostname=\"localhost\">\n",
        plugin, name, number_++, plugin, counts.tests, counts.failures, counts.errors,
        counts.skipped, time(counts.seconds), timestamp());
    add_properties(report_.subjects[subject]);
    // Jenkins takes what is before the last dot for the name of a package.
    for (const TestResult* test : suite.tests) add_test(plugin + "." + name, *test);
    out_ += "  </testsuite>\n";
  }

  void add_properties(const SubjectReport& subject) {
    const std::pair<std::string_view, std::string> properties[] = {
        {"plugin", subject.path},
        {"sha256", subject.sha256},
        {"version", subject.version},
        {"vendor", subject.vendor},
        {"sdk_version", subject.sdk_version},
        {"backends", fmt::format("{}", fmt::join(subject.backends, ", "))},
        {"kit_version", report_.kit_version},
        {"abi_version", report_.abi_version},
        {"machine", report_.machine},
        {"seed", std::to_string(report_.seed)},
        {"level", std::to_string(report_.level)},
    };
    out_ += "    <properties>\n";
    for (const auto& [name, value] : properties) {
      if (value.empty()) continue;
      out_ += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name,
                          escape::xml_attribute(value));
    }
    out_ += "    </properties>\n";
  }

  void add_test(std::string_view class_name, const TestResult& test) {
    const double seconds = std::isfinite(test.seconds) && test.seconds > 0 ? test.seconds : 0;
    std::string inside = outcome_element(test);
    if (!test.output.empty()) {
      inside += fmt::format("      <system-out>{}</system-out>\n",
                            escape::markup(escape::cut(test.output, max_shown_output)));
    }
    out_ += fmt::format("    <testcase name=\"{}\" classname=\"{}\"{}",
                        escape::xml_attribute(test.path()), class_name, time(seconds));
    out_ += inside.empty() ? "/>\n" : fmt::format(">\n{}    </testcase>\n", inside);
  }

  [[nodiscard]] static std::string outcome_element(const TestResult& test) {
    if (test.outcome == Outcome::passed) return {};
    const std::string type(outcome_name(test.outcome));
    if (!is_bad(test.outcome)) {
      return fmt::format("      <skipped type=\"{}\" message=\"{}\"/>\n", type,
                         escape::xml_attribute(message(test)));
    }
    // Some readers show the message, some the text; both say what is wrong.
    const std::string_view element = test.outcome == Outcome::kit_error ? "error" : "failure";
    return fmt::format("      <{} type=\"{}\" message=\"{}\">{}</{}>\n", element, type,
                       escape::xml_attribute(message(test)), escape::markup(details(test)),
                       element);
  }

  /// "TN-EXE-2: input 1 ... (and 2 more)", or the reason.
  [[nodiscard]] static std::string message(const TestResult& test) {
    constexpr std::size_t longest = 4096;
    std::string out;
    if (test.outcome != Outcome::failed) out = in_words(outcome_name(test.outcome));
    if (!test.reason.empty()) out += (out.empty() ? "" : ": ") + test.reason;
    if (out.empty() && !test.findings.empty()) {
      out = test.findings.front().rule + ": " + test.findings.front().text;
      if (const std::size_t more = test.findings.size() - 1; more != 0) {
        out += fmt::format(" (and {} more)", more);
      }
    }
    if (out.empty() && !test.crashes.empty()) out = test.crashes.front().what;
    if (out.empty()) out = "failed";
    return escape::cut(out, longest);
  }

  [[nodiscard]] static std::string details(const TestResult& test) {
    std::string out;
    if (!test.reason.empty()) out += test.reason + "\n";
    for (const Finding& finding : test.findings) {
      out += fmt::format("{}: {}\n", finding.rule, finding.text);
      if (const Rule* rule = find_rule(finding.rule)) {
        out += fmt::format("  {} ({})\n", rule->sentence, rule->source);
      }
    }
    for (const Crash& crash : test.crashes) {
      out += crash.what + (crash.in.empty() ? "" : " in " + crash.in) + "\n";
      if (!crash.last_calls.empty()) out += "last calls, oldest first:\n";
      for (const std::string& call : crash.last_calls) out += "  " + call + "\n";
      if (!crash.backtrace.empty()) out += "backtrace, innermost first:\n";
      for (const std::string& frame : crash.backtrace) out += "  " + frame + "\n";
    }
    return out;
  }

  const Report& report_;
  ReportView view_;
  ReportOptions options_;
  std::string out_;
  std::size_t number_ = 0;
};

}  // namespace detail

/// `report` as JUnit XML.
[[nodiscard]] inline std::string to_junit(const Report& report, const ReportOptions& options = {}) {
  const Report ready = prepared(report, options);
  return detail::JunitReport(ready, options).take();
}

}  // namespace tenon::conformance
