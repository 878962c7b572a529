// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/core/api.hpp"

/// The part that all reports share: the state of each rule, and whether the run was good.
namespace tenon::conformance {

/// The state of one rule after a run.
enum class RuleState : std::uint8_t {
  kept,        ///< A test that can find it broken passed, and none found it broken.
  broken,      ///< Some test found it broken.
  expected,    ///< Found broken only by tests that the subject file declares as failing.
  not_judged,  ///< No test that can find it broken came to an end.
};

inline constexpr std::size_t num_rule_states = 4;

/// "kept", "broken", "expected", "not_judged": as in the reports.
[[nodiscard]] constexpr std::string_view rule_state_name(RuleState state) noexcept {
  constexpr std::array<std::string_view, num_rule_states> names = {"kept", "broken", "expected",
                                                                   "not_judged"};
  return names[static_cast<std::size_t>(state)];
}

/// An outcome or the state of a rule in words: "not_judged" becomes "not judged".
[[nodiscard]] TENON_API std::string in_words(std::string_view name);

/// Where a rule was found broken. Points into the report.
struct Violation {
  std::size_t subject = 0;  ///< Index in the report.
  const TestResult* test = nullptr;
  const Finding* finding = nullptr;
};

/// One rule and its state after a run. Points into the report.
struct JudgedRule {
  std::string id;
  std::string_view sentence, source;  ///< Empty for a rule that this kit does not know.
  RuleState state = RuleState::not_judged;
  std::vector<Violation> violations;  ///< In the order of the tests.
};

/// A report with its rules looked up and its tests counted. Points into the report, which must
/// outlive it and not change.
struct ReportView {
  std::vector<JudgedRule> rules;  ///< All that the kit knows, in their order, then others by id.
  std::array<std::uint32_t, num_outcomes> outcomes{};
  std::array<std::uint32_t, num_rule_states> states{};
  std::size_t num_tests = 0;
  std::size_t num_judged = 0;         ///< Tests that came to an end, in whatever way.
  std::size_t num_bad = 0;            ///< Tests of which `is_bad` is true.
  std::vector<std::string> subjects;  ///< A short name for each; no two are the same.
  std::size_t num_idle = 0;           ///< Plugins of which nothing was executed.
  bool good = false;                  ///< As `is_good` says.
  std::string verdict;                ///< One line that says so: "PASS", "FAIL" or "INCOMPLETE".

  [[nodiscard]] std::uint32_t count(Outcome outcome) const {
    return outcomes[static_cast<std::size_t>(outcome)];
  }
  [[nodiscard]] std::uint32_t count(RuleState state) const {
    return states[static_cast<std::size_t>(state)];
  }
};

/// Whether a test with such an outcome ran to its end and says something about the subject.
[[nodiscard]] constexpr bool is_judged(Outcome outcome) noexcept {
  return outcome == Outcome::passed || outcome == Outcome::failed ||
         outcome == Outcome::expected_failure || outcome == Outcome::unexpected_pass;
}

/// The lowest level that executes delegates: level 1 judges the file.
inline constexpr int first_executing_level = 2;

/// Looks up the state of each rule in `report`. A run without a test, in which no test could judge
/// anything, with blocked tests, or of all tests of a level above 1 that executed no delegate and
/// no kernel of a plugin, is not good: "was not examined" must not be taken for "nothing is wrong".
/// The verdict of a run whose only defect is one of the last two is "INCOMPLETE".
[[nodiscard]] TENON_API ReportView view_of(const Report& report);

/// Whether a run is good: its verdict is "PASS". The one place that decides it, for exit codes,
/// reports and certificates.
[[nodiscard]] TENON_API bool is_good(const Report& report);

namespace detail {

/// A short name for each plugin, with a number behind one that another plugin has too.
[[nodiscard]] TENON_API std::vector<std::string> subject_names(const Report& report);

/// "1 rule", "2 rules".
[[nodiscard]] TENON_API std::string plural(std::size_t count, std::string_view one,
                                           std::string_view many = {});

/// "a, b, c".
[[nodiscard]] TENON_API std::string joined(const std::vector<std::string>& texts,
                                           std::string_view separator);

/// The shortest decimal form that reads back as `value`: "2", "0.25", "1000000", "1e-07".
[[nodiscard]] TENON_API std::string number_text(double value);

/// "0.012 s", "83 s".
[[nodiscard]] TENON_API std::string seconds_text(double seconds);

/// "hello 1.0 by Someone".
[[nodiscard]] TENON_API std::string subject_title(const SubjectReport& subject,
                                                  std::string_view short_name);

/// The path of a test, after "plugin: " when the report has several plugins.
[[nodiscard]] TENON_API std::string place_of(const ReportView& view, std::size_t subject,
                                             const TestResult& test);

/// A test and the index of its subject. Points into the report.
struct PlacedTest {
  std::size_t subject;
  const TestResult* test;
};

/// The tests of all subjects for which `wanted` is true, in their order.
[[nodiscard]] TENON_API std::vector<PlacedTest> tests_where(const Report& report,
                                                            bool (*wanted)(const TestResult&));

/// For `tests_where`: bad tests that report more than broken rules.
[[nodiscard]] TENON_API bool fails_without_rule(const TestResult& test);
[[nodiscard]] TENON_API bool fails_as_expected(const TestResult& test);
[[nodiscard]] TENON_API bool was_not_judged(const TestResult& test);

// Titles of the sections of these tests, in every report.
inline constexpr std::string_view other_failures_title = "Failed without a broken rule";
inline constexpr std::string_view expected_failures_title = "Expected failures";

}  // namespace detail

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "tenon/conformance/rule.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::conformance {

TENON_API std::string in_words(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

namespace detail {

TENON_API std::vector<std::string> subject_names(const Report& report) {
  std::map<std::string, int> seen;
  std::vector<std::string> out;
  for (const SubjectReport& subject : report.subjects) {
    std::string name = subject.name;
    if (name.empty()) name = subject.path.substr(subject.path.rfind('/') + 1);
    if (name.empty()) name = "plugin";
    const int number = ++seen[name];
    if (number > 1) name += concat(" (", number, ")");
    out.push_back(std::move(name));
  }
  return out;
}

TENON_API std::string plural(std::size_t count, std::string_view one, std::string_view many) {
  if (count == 1) return concat("1 ", one);
  return many.empty() ? concat(count, " ", one, "s") : concat(count, " ", many);
}

TENON_API std::string joined(const std::vector<std::string>& texts, std::string_view separator) {
  std::string out;
  for (const std::string& text : texts) {
    if (&text != &texts.front()) out += separator;
    out += text;
  }
  return out;
}

TENON_API std::string number_text(double value) {
  // Without a format, to_chars would write 1000000 as 1e+06, which is shorter.
  const double size = std::abs(value);
  const bool is_fixed = size == 0 || (size >= 1e-4 && size < 1e16);
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value,
                                 is_fixed ? std::chars_format::fixed : std::chars_format::general)
                       .ptr;
  return {digits, end};
}

TENON_API std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "? s";
  char digits[340];
  const auto end = std::to_chars(digits, digits + sizeof digits, seconds, std::chars_format::fixed,
                                 seconds < 10 ? 3 : 0)
                       .ptr;
  return std::string(digits, end) + " s";
}

TENON_API std::string subject_title(const SubjectReport& subject, std::string_view short_name) {
  std::string out(short_name);
  if (!subject.version.empty()) out += " " + subject.version;
  if (!subject.vendor.empty()) out += " by " + subject.vendor;
  return out;
}

TENON_API std::string place_of(const ReportView& view, std::size_t subject,
                               const TestResult& test) {
  return view.subjects.size() > 1 ? view.subjects[subject] + ": " + test.path() : test.path();
}

TENON_API std::vector<PlacedTest> tests_where(const Report& report,
                                              bool (*wanted)(const TestResult&)) {
  std::vector<PlacedTest> out;
  for (std::size_t i = 0; i < report.subjects.size(); ++i) {
    for (const TestResult& test : report.subjects[i].tests) {
      if (wanted(test)) out.push_back({i, &test});
    }
  }
  return out;
}

TENON_API bool fails_without_rule(const TestResult& test) {
  return is_bad(test.outcome) && (test.outcome != Outcome::failed || test.findings.empty());
}
TENON_API bool fails_as_expected(const TestResult& test) {
  return test.outcome == Outcome::expected_failure;
}
TENON_API bool was_not_judged(const TestResult& test) {
  return !is_judged(test.outcome) && !is_bad(test.outcome);
}

/// Rules by id, in the order of the table, then those that it lacks.
[[nodiscard]] inline std::vector<JudgedRule> judged_rules(const Report& report) {
  std::map<std::string_view, std::vector<Violation>> violations;
  std::set<std::string_view> kept, unexpected;
  for (std::size_t i = 0; i < report.subjects.size(); ++i) {
    for (const TestResult& test : report.subjects[i].tests) {
      for (const Finding& finding : test.findings) {
        violations[finding.rule].push_back({i, &test, &finding});
        if (test.outcome != Outcome::expected_failure) unexpected.insert(finding.rule);
      }
      if (test.outcome != Outcome::passed && test.outcome != Outcome::unexpected_pass) continue;
      kept.insert(test.rules.begin(), test.rules.end());
    }
  }
  std::vector<JudgedRule> out;
  const auto add = [&](std::string_view id, std::string_view sentence, std::string_view source) {
    JudgedRule rule{std::string(id), sentence, source, RuleState::not_judged, {}};
    if (const auto found = violations.find(id); found != violations.end()) {
      rule.violations = std::move(found->second);
      rule.state = unexpected.contains(id) ? RuleState::broken : RuleState::expected;
      violations.erase(found);
    } else if (kept.contains(id)) {
      rule.state = RuleState::kept;
    }
    kept.erase(id);
    out.push_back(std::move(rule));
  };
  for (const Rule& rule : rules()) add(rule.id, rule.sentence, rule.source);
  std::set<std::string_view> others = kept;
  for (const auto& [id, found] : violations) others.insert(id);
  for (const std::string_view id : others) add(id, {}, {});
  return out;
}

[[nodiscard]] inline bool is_idle(const SubjectReport& subject) {
  return std::none_of(subject.tests.begin(), subject.tests.end(), [](const TestResult& test) {
    return test.executed && is_judged(test.outcome);
  });
}

[[nodiscard]] inline std::string verdict_of(const ReportView& view, bool must_execute) {
  if (view.num_tests == 0) return "FAIL: no test was run";
  const std::string tests = plural(view.num_tests, "test");
  if (view.num_bad != 0) {
    std::string why = plural(view.count(RuleState::broken), "rule") + " broken";
    if (const auto count = view.count(Outcome::unexpected_pass); count != 0) {
      why += ", " + plural(count, "unexpected pass", "unexpected passes");
    }
    if (const auto count = view.count(Outcome::kit_error); count != 0) {
      why += ", " + plural(count, "error") + " of the kit";
    }
    return concat("FAIL: ", why, "; ", view.num_bad, " of ", tests, " failed");
  }
  if (view.num_judged == 0) return concat("FAIL: nothing was judged; ", tests, ", none ran");
  std::string idle;
  if (view.num_idle != 0) {
    idle = view.subjects.size() == 1
               ? "; no delegate was executed"
               : concat("; no delegate of ", plural(view.num_idle, "plugin"), " was executed");
  }
  const std::string kept = plural(view.count(RuleState::kept), "rule") + " kept";
  if (const auto count = view.count(Outcome::blocked); count != 0) {
    return concat("INCOMPLETE: ", count, " of ", tests, " could not be judged; ", kept, idle);
  }
  return concat(must_execute && view.num_idle != 0 ? "INCOMPLETE: " : "PASS: ", kept, "; ",
                view.num_judged, " of ", tests, " judged", idle);
}

}  // namespace detail

TENON_API ReportView view_of(const Report& report) {
  ReportView view;
  view.rules = detail::judged_rules(report);
  view.outcomes = count_outcomes(report);
  view.subjects = detail::subject_names(report);
  for (const JudgedRule& rule : view.rules) ++view.states[static_cast<std::size_t>(rule.state)];
  for (std::size_t i = 0; i < num_outcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    view.num_tests += view.outcomes[i];
    if (is_judged(outcome)) view.num_judged += view.outcomes[i];
    if (is_bad(outcome)) view.num_bad += view.outcomes[i];
  }
  for (const SubjectReport& subject : report.subjects) {
    view.num_idle += detail::is_idle(subject) ? 1 : 0;
  }
  view.verdict =
      detail::verdict_of(view, report.all_tests && report.level >= first_executing_level);
  view.good = view.verdict.starts_with("PASS");
  return view;
}

TENON_API bool is_good(const Report& report) { return view_of(report).good; }

}  // namespace tenon::conformance

#endif  // TENON_CONFORMANCE_DEFINITIONS
