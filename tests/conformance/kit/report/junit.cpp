// SPDX-License-Identifier: MIT
#include "kit/report/junit.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/report/escape.hpp"
#include "kit/report/view.hpp"
#include "kit/verdict/rule.hpp"
#include "kit/verdict/verdict.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// The counts of one suite, or of all.
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
constexpr std::size_t max_shown_output = 64 * 1024;

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
    return concat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
                  "<testsuites name=\"tenon-conformance\" tests=\"", all.tests, "\" failures=\"",
                  all.failures, "\" errors=\"", all.errors, "\"", time(all.seconds), ">\n", out_,
                  "</testsuites>\n");
  }

 private:
  struct Suite {
    std::string name;
    std::vector<const TestResult*> tests;
  };

  [[nodiscard]] static std::vector<Suite> suites_of(const SubjectReport& subject) {
    std::vector<Suite> out;
    for (const TestResult& test : subject.tests) {
      std::size_t at = 0;
      while (at < out.size() && out[at].name != test.suite) ++at;
      if (at == out.size()) out.push_back({test.suite, {}});
      out[at].tests.push_back(&test);
    }
    return out;
  }

  [[nodiscard]] std::string time(double seconds) const {
    if (!options_.with_times) return {};
    char digits[340];
    const auto end =
        std::to_chars(digits, digits + sizeof digits, seconds, std::chars_format::fixed, 3).ptr;
    return concat(" time=\"", std::string_view(digits, end), "\"");
  }

  /// The start without its time zone, which the format lacks: "2026-11-21T15:30:00".
  [[nodiscard]] std::string timestamp() const {
    std::string_view date = report_.started;
    if (date.ends_with('Z')) date.remove_suffix(1);
    if (date.empty()) return {};
    return concat(" timestamp=\"", escape::xml_attribute(date), "\"");
  }

  void add_suite(std::size_t subject, const Suite& suite) {
    JunitCounts counts;
    for (const TestResult* test : suite.tests) counts.add(*test);
    const std::string plugin = escape::xml_attribute(view_.subjects[subject]);
    const std::string name = escape::xml_attribute(suite.name);
    out_ += concat("  <testsuite name=\"", plugin, ": ", name, "\" id=\"", number_++,
                   "\" package=\"", plugin, "\" tests=\"", counts.tests, "\" failures=\"",
                   counts.failures, "\" errors=\"", counts.errors, "\" skipped=\"", counts.skipped,
                   "\"", time(counts.seconds), timestamp(), " hostname=\"localhost\">\n");
    add_properties(report_.subjects[subject]);
    // Jenkins takes the part before the last dot for the name of a package.
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
        {"backends", join(subject.backends, ", ")},
        {"kit_version", report_.kit_version},
        {"abi_version", report_.abi_version},
        {"machine", report_.machine},
        {"seed", std::to_string(report_.seed)},
        {"level", std::to_string(report_.level)},
        {"verdict", view_.verdict},
    };
    out_ += "    <properties>\n";
    for (const auto& [name, value] : properties) {
      if (value.empty()) continue;
      out_ += concat("      <property name=\"", name, "\" value=\"", escape::xml_attribute(value),
                     "\"/>\n");
    }
    out_ += "    </properties>\n";
  }

  void add_test(std::string_view class_name, const TestResult& test) {
    const double seconds = std::isfinite(test.seconds) && test.seconds > 0 ? test.seconds : 0;
    std::string inside = outcome_element(test);
    if (!test.output.empty()) {
      inside +=
          concat("      <system-out>", escape::markup(escape::cut(test.output, max_shown_output)),
                 "</system-out>\n");
    }
    out_ += concat("    <testcase name=\"", escape::xml_attribute(test.path()), "\" classname=\"",
                   class_name, "\"", time(seconds));
    out_ += inside.empty() ? "/>\n" : ">\n" + inside + "    </testcase>\n";
  }

  [[nodiscard]] static std::string outcome_element(const TestResult& test) {
    if (test.outcome == Outcome::passed) return {};
    const std::string type(outcome_name(test.outcome));
    if (!is_bad(test.outcome)) {
      return concat("      <skipped type=\"", type, "\" message=\"",
                    escape::xml_attribute(message(test)), "\"/>\n");
    }
    // Some readers show the message, some the text; both hold the failure.
    const std::string_view element = test.outcome == Outcome::kit_error ? "error" : "failure";
    return concat("      <", element, " type=\"", type, "\" message=\"",
                  escape::xml_attribute(message(test)), "\">", escape::markup(details(test)), "</",
                  element, ">\n");
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
        out += concat(" (and ", more, " more)");
      }
    }
    if (out.empty() && !test.crashes.empty()) out = test.crashes.front().what;
    if (out.empty()) out = "failed";
    return escape::cut(out, longest);
  }

  [[nodiscard]] static std::string details(const TestResult& test) {
    std::string out = test.id.empty() ? std::string() : test.name + "\n";
    if (!test.reason.empty()) out += test.reason + "\n";
    for (const Finding& finding : test.findings) {
      out += finding.rule + ": " + finding.text + "\n";
      if (const Rule* rule = find_rule(finding.rule)) {
        out += concat("  ", rule->sentence, " (", rule->source, ")\n");
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

}  // namespace

std::string to_junit(const Report& report, const ReportOptions& options) {
  const Report ready = prepared(report, options);
  return JunitReport(ready, options).take();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
