// SPDX-License-Identifier: MIT
#include "kit/report/view.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "kit/verdict/rule.hpp"
#include "kit/verdict/verdict.hpp"
#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

std::string in_words(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::string title_of(const TestResult& test) {
  return test.id.empty() ? test.path() : concat(test.path(), " (", test.name, ")");
}

namespace detail {

std::vector<std::string> subject_names(const Report& report) {
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

std::string plural(std::size_t count, std::string_view one, std::string_view many) {
  if (count == 1) return concat("1 ", one);
  return many.empty() ? concat(count, " ", one, "s") : concat(count, " ", many);
}

std::string number_text(double value) {
  // Without a format, to_chars would write 1000000 as 1e+06, which is shorter.
  const double size = std::abs(value);
  const bool is_fixed = size == 0 || (size >= 1e-4 && size < 1e16);
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value,
                                 is_fixed ? std::chars_format::fixed : std::chars_format::general)
                       .ptr;
  return {digits, end};
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "? s";
  char digits[340];
  const auto end = std::to_chars(digits, digits + sizeof digits, seconds, std::chars_format::fixed,
                                 seconds < 10 ? 3 : 0)
                       .ptr;
  return std::string(digits, end) + " s";
}

std::string subject_title(const SubjectReport& subject, std::string_view short_name) {
  std::string out(short_name);
  if (!subject.version.empty()) out += " " + subject.version;
  if (!subject.vendor.empty()) out += " by " + subject.vendor;
  return out;
}

std::string place_of(const ReportView& view, std::size_t subject, const TestResult& test) {
  return view.subjects.size() > 1 ? view.subjects[subject] + ": " + title_of(test) : title_of(test);
}

std::vector<PlacedTest> tests_where(const Report& report, bool (*wanted)(const TestResult&)) {
  std::vector<PlacedTest> out;
  for (std::size_t i = 0; i < report.subjects.size(); ++i) {
    for (const TestResult& test : report.subjects[i].tests) {
      if (wanted(test)) out.push_back({i, &test});
    }
  }
  return out;
}

bool fails_without_rule(const TestResult& test) {
  return is_bad(test.outcome) && (test.outcome != Outcome::failed || test.findings.empty());
}
bool fails_as_expected(const TestResult& test) { return test.outcome == Outcome::expected_failure; }
bool was_not_judged(const TestResult& test) {
  return !is_judged(test.outcome) && !is_bad(test.outcome);
}

}  // namespace detail

namespace {

/// Rules by id, in the order of the table, then those that it lacks.
[[nodiscard]] std::vector<JudgedRule> judged_rules(const Report& report) {
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

/// The facts that led to the verdict, in words.
[[nodiscard]] std::string reason_of(const ReportView& view) {
  if (view.num_tests == 0) return "no test was run";
  const std::string tests = detail::plural(view.num_tests, "test");
  if (view.num_bad != 0) {
    std::string why = detail::plural(view.count(RuleState::broken), "rule") + " broken";
    if (const auto count = view.count(Outcome::unexpected_pass); count != 0) {
      why += ", " + detail::plural(count, "unexpected pass", "unexpected passes");
    }
    if (const auto count = view.count(Outcome::kit_error); count != 0) {
      why += ", " + detail::plural(count, "error") + " of the kit";
    }
    return concat(why, "; ", view.num_bad, " of ", tests, " failed");
  }
  if (view.num_judged == 0) return concat("nothing was judged; ", tests, ", none ran");
  std::string idle;
  if (view.num_idle != 0) {
    idle =
        view.subjects.size() == 1
            ? "; no delegate was executed"
            : concat("; no delegate of ", detail::plural(view.num_idle, "plugin"), " was executed");
  }
  const std::string kept = detail::plural(view.count(RuleState::kept), "rule") + " kept";
  if (const auto count = view.count(Outcome::blocked); count != 0) {
    return concat(count, " of ", tests, " could not be judged; ", kept, idle);
  }
  return concat(kept, "; ", view.num_judged, " of ", tests, " judged", idle);
}

}  // namespace

ReportView view_of(const Report& report) {
  ReportView view;
  view.rules = judged_rules(report);
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
    view.num_idle += is_idle(subject) ? 1 : 0;
  }
  const Verdict verdict = verdict_of(report);
  view.verdict = concat(verdict_name(verdict), ": ", reason_of(view));
  view.good = verdict == Verdict::pass;
  return view;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
