// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kit/verdict/verdict.hpp"
#include "tenon/conformance/result.hpp"

/// The part that all reports share: the state of each rule, and the verdict in words.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

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
[[nodiscard]] std::string in_words(std::string_view name);

/// The path of a test and, in parentheses, its name, unless that is part of the path.
[[nodiscard]] std::string title_of(const TestResult& test);

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
  bool good = false;                  ///< The verdict is `Verdict::pass`.
  std::string verdict;                ///< One line: the name of the verdict, and why.

  [[nodiscard]] std::uint32_t count(Outcome outcome) const {
    return outcomes[static_cast<std::size_t>(outcome)];
  }
  [[nodiscard]] std::uint32_t count(RuleState state) const {
    return states[static_cast<std::size_t>(state)];
  }
};

/// Looks up the state of each rule in `report`, and puts its verdict (`verdict_of`) in words.
[[nodiscard]] ReportView view_of(const Report& report);

namespace detail {

/// A short name for each plugin, with a number behind a name that another plugin has too.
[[nodiscard]] std::vector<std::string> subject_names(const Report& report);

/// "1 rule", "2 rules".
[[nodiscard]] std::string plural(std::size_t count, std::string_view one,
                                 std::string_view many = {});

/// The shortest decimal form that reads back as `value`: "2", "0.25", "1000000", "1e-07".
[[nodiscard]] std::string number_text(double value);

/// "0.012 s", "83 s".
[[nodiscard]] std::string seconds_text(double seconds);

/// "hello 1.0 by Someone".
[[nodiscard]] std::string subject_title(const SubjectReport& subject, std::string_view short_name);

/// The title of a test, after "plugin: " when the report has several plugins.
[[nodiscard]] std::string place_of(const ReportView& view, std::size_t subject,
                                   const TestResult& test);

/// A test and the index of its subject. Points into the report.
struct PlacedTest {
  std::size_t subject;
  const TestResult* test;
};

/// The tests of all subjects for which `wanted` is true, in their order.
[[nodiscard]] std::vector<PlacedTest> tests_where(const Report& report,
                                                  bool (*wanted)(const TestResult&));

/// For `tests_where`: bad tests that report more than broken rules.
[[nodiscard]] bool fails_without_rule(const TestResult& test);
[[nodiscard]] bool fails_as_expected(const TestResult& test);
[[nodiscard]] bool was_not_judged(const TestResult& test);

// Titles of the sections of these tests, in every report.
inline constexpr std::string_view other_failures_title = "Failed without a broken rule";
inline constexpr std::string_view expected_failures_title = "Expected failures";

}  // namespace detail

}}}  // namespace tenon::TENON_RELEASE::conformance
