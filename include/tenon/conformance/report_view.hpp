// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/conformance/rule.hpp"

/// What all reports say in the same way: which rules are kept, and whether the run was a good one.
namespace tenon::conformance {

/// What a run says of one rule.
enum class RuleState : std::uint8_t {
  kept,        ///< A test that can find it broken passed, and none found it broken.
  broken,      ///< Some test found it broken.
  expected,    ///< Only tests found it broken of which the subject file says that they fail.
  not_judged,  ///< No test that can find it broken came to an end.
};

inline constexpr std::size_t num_rule_states = 4;

/// "kept", "broken", "expected", "not_judged": as in the reports.
[[nodiscard]] constexpr std::string_view rule_state_name(RuleState state) noexcept {
  constexpr std::array<std::string_view, num_rule_states> names = {"kept", "broken", "expected",
                                                                   "not_judged"};
  return names[static_cast<std::size_t>(state)];
}

/// An outcome or the state of a rule in words: "not_judged" is "not judged".
[[nodiscard]] inline std::string in_words(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '_', ' ');
  return out;
}

/// Where a rule was found broken. Points into the report.
struct Violation {
  std::size_t subject = 0;  ///< Index in the report.
  const TestResult* test = nullptr;
  const Finding* finding = nullptr;
};

/// One rule and what a run says of it. Points into the report.
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
  std::vector<std::string> subjects;  ///< A short name for each, unlike those of the others.
  bool good = false;                  ///< No test was bad, and there was something to judge.
  std::string verdict;                ///< One line that says so.

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

namespace detail {

/// The plugin's name, or that of its file.
[[nodiscard]] inline std::string subject_name(const SubjectReport& subject) {
  if (!subject.name.empty()) return subject.name;
  const std::string_view path = subject.path;
  const std::string file(path.substr(path.rfind('/') + 1));
  return file.empty() ? "plugin" : file;
}

[[nodiscard]] inline std::vector<std::string> subject_names(const Report& report) {
  std::map<std::string, int> seen;
  std::vector<std::string> out;
  for (const SubjectReport& subject : report.subjects) {
    std::string name = subject_name(subject);
    const int number = ++seen[name];
    if (number > 1) name += " (" + std::to_string(number) + ")";
    out.push_back(std::move(name));
  }
  return out;
}

/// "1 rule", "2 rules".
[[nodiscard]] inline std::string plural(std::size_t count, std::string_view one,
                                        std::string_view many = {}) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

/// Rules by id, in the order of the table; those that it lacks behind them.
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

[[nodiscard]] inline std::string verdict_of(const ReportView& view) {
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
    return fmt::format("FAIL: {}; {} of {} failed", why, view.num_bad, tests);
  }
  if (view.num_judged == 0) return fmt::format("FAIL: nothing was judged; {}, none ran", tests);
  return fmt::format("PASS: {} kept; {} of {} judged", plural(view.count(RuleState::kept), "rule"),
                     view.num_judged, tests);
}

}  // namespace detail

/// Looks up what `report` says of each rule. A run without a test, or in which no test could judge
/// anything, is not a good one: nobody should take "nothing was looked at" for "nothing is wrong".
[[nodiscard]] inline ReportView view_of(const Report& report) {
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
  view.good = view.num_bad == 0 && view.num_judged != 0;
  view.verdict = detail::verdict_of(view);
  return view;
}

/// Whether a run may be taken for a good one: something was judged, and no test was bad.
[[nodiscard]] inline bool is_good(const Report& report) { return view_of(report).good; }

}  // namespace tenon::conformance
