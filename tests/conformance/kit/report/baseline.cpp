// SPDX-License-Identifier: MIT
#include "kit/report/baseline.hpp"

#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "kit/report/escape.hpp"
#include "kit/report/text.hpp"
#include "kit/report/view.hpp"
#include "kit/verdict/verdict.hpp"
#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

class Baseline {
 public:
  Baseline(const Report& old, const Report& now, double factor)
      : old_(old), now_(now), factor_(factor) {
    for (const Report* report : {&old_, &now_}) {
      for (const SubjectReport& subject : report->subjects) {
        for (const TestResult& test : subject.tests) {
          if (!test.id.empty()) ids_.emplace(name_of(test), test.id);
        }
      }
    }
  }

  [[nodiscard]] BaselineComparison compare() && {
    compare_runs();
    const Tests before = tests_of(old_), after = tests_of(now_);
    for (const auto& [where, test] : before) {
      const auto found = after.find(where);
      if (found != after.end()) {
        compare_tests(where, *test, *found->second);
      } else if (is_judged(test->outcome)) {
        add(out_.vanished, where, was(*test) + ", is missing");
      }
    }
    for (const auto& [where, test] : after) {
      if (before.contains(where)) continue;
      if (is_bad(test->outcome)) {
        add(out_.newly_failing, where, "was missing, is " + words(*test));
      }
    }
    compare_rules();
    return std::move(out_);
  }

 private:
  /// Tests by path. Paths are compared as they are written to JSON, or a report that was read back
  /// would differ from itself.
  using Tests = std::map<std::string, const TestResult*>;

  /// Two runs of one plugin each are compared even if the names differ: the name of a file may
  /// hold a version.
  [[nodiscard]] Tests tests_of(const Report& report) const {
    const bool single = old_.subjects.size() == 1 && now_.subjects.size() == 1;
    const std::vector<std::string> names = detail::subject_names(report);
    Tests out;
    for (std::size_t i = 0; i < report.subjects.size(); ++i) {
      for (const TestResult& test : report.subjects[i].tests) {
        const std::string path = path_of(test);
        const std::string where = escape::utf8(single ? path : names[i] + ": " + path);
        const auto [found, is_new] = out.emplace(where, &test);
        if (!is_new && is_bad(test.outcome)) found->second = &test;
      }
    }
    return out;
  }

  [[nodiscard]] static std::string name_of(const TestResult& test) {
    return escape::utf8(test.suite + "/" + test.name);
  }

  /// The path with an id also for a test of a report by an older kit, which knows names alone.
  [[nodiscard]] std::string path_of(const TestResult& test) const {
    const auto known = test.id.empty() ? ids_.find(name_of(test)) : ids_.end();
    if (known == ids_.end()) return test.path();
    TestResult with_id;
    with_id.id = known->second;
    with_id.backend = test.backend;
    with_id.of_case = test.of_case;
    with_id.repeat = test.repeat;
    return with_id.path();
  }

  static void add(std::vector<BaselineChange>& to, std::string_view where, std::string text) {
    to.push_back({std::string(where), std::move(text)});
  }

  [[nodiscard]] static std::string was(const TestResult& test) {
    return "was " + in_words(outcome_name(test.outcome));
  }

  /// "failed: TN-EXE-2: input 1 ...".
  [[nodiscard]] static std::string words(const TestResult& test) {
    std::string out = in_words(outcome_name(test.outcome));
    if (!test.reason.empty()) out += ": " + test.reason;
    if (!test.findings.empty()) {
      out += ": " + test.findings.front().rule + ": " + test.findings.front().text;
    }
    return escape::line(out);
  }

  void compare_tests(const std::string& where, const TestResult& old, const TestResult& now) {
    const auto fails = [](const TestResult& test) {
      return is_bad(test.outcome) || test.outcome == Outcome::expected_failure;
    };
    const std::string text = was(old) + ", is " + words(now);
    if (is_bad(now.outcome) && !is_bad(old.outcome)) {
      add(out_.newly_failing, where, text);
    } else if (fails(now) && !fails(old)) {
      add(out_.newly_failing, where, text);
    } else if (is_judged(old.outcome) && !is_judged(now.outcome) && !is_bad(now.outcome)) {
      add(out_.vanished, where, text);
    } else if (now.outcome == Outcome::passed && fails(old)) {
      add(out_.newly_passing, where, text);
    }
    std::map<std::pair<std::string_view, std::string_view>, const Measurement*> known;
    for (const Measurement& each : now.measurements) {
      known.try_emplace({each.name, each.unit}, &each);
    }
    for (const Measurement& each : old.measurements) {
      const auto found = known.find({each.name, each.unit});
      if (found != known.end()) {
        compare_measurement(where, each, *found->second);
      } else if (is_judged(now.outcome)) {
        add(out_.notes, where, escape::line("no longer measured: " + each.name));
      }
    }
  }

  void compare_measurement(const std::string& where, const Measurement& old,
                           const Measurement& now) {
    if (!is_worse(old, now)) return;
    add(out_.worse_measurements, where,
        escape::line(concat(old.name, ": was ", detail::number_text(old.value), " ", old.unit,
                            ", is ", detail::number_text(now.value), " ", now.unit)));
  }

  /// Less is better, except for rates ("bytes/s").
  [[nodiscard]] bool is_worse(const Measurement& old, const Measurement& now) const {
    // Shorter times are mostly the overhead of the clock.
    constexpr double shortest_seconds = 1e-5;
    if (std::isnan(old.value)) return false;
    if (std::isnan(now.value)) return true;
    if (now.unit.ends_with("/s")) {
      return now.value < old.value && now.value * factor_ <= old.value;
    }
    if (now.unit == "s" && now.value < shortest_seconds) return false;
    return now.value > old.value && now.value >= old.value * factor_;
  }

  void compare_rules() {
    const ReportView before = view_of(old_), after = view_of(now_);
    std::map<std::string_view, RuleState> states;
    for (const JudgedRule& rule : before.rules) states.emplace(rule.id, rule.state);
    for (const JudgedRule& rule : after.rules) {
      const auto found = states.find(rule.id);
      const RuleState old = found == states.end() ? RuleState::not_judged : found->second;
      if (rule.state != RuleState::broken || old == RuleState::broken) continue;
      add(out_.newly_broken, escape::line(rule.id), std::string(rule.sentence));
    }
  }

  void compare_runs() {
    const auto note = [&](std::string_view what, const std::string& old, const std::string& now) {
      if (old == now) return;
      add(out_.notes, what, escape::line(concat("was '", old, "', is '", now, "'")));
    };
    note("level", std::to_string(old_.level), std::to_string(now_.level));
    note("seed", std::to_string(old_.seed), std::to_string(now_.seed));
    note("machine", old_.machine, now_.machine);
    note("kit", old_.kit_version, now_.kit_version);
  }

  const Report& old_;
  const Report& now_;
  double factor_;
  std::map<std::string, std::string> ids_;  ///< Of tests, by suite and name.
  BaselineComparison out_;
};

}  // namespace

BaselineComparison compare(const Report& old, const Report& now, double factor) {
  return Baseline(old, now, factor).compare();
}

std::string to_text(const BaselineComparison& comparison, bool color) {
  using detail::TextStyle;
  struct Section {
    std::string_view title;
    const std::vector<BaselineChange>& changes;
    TextStyle style;
  };
  const Section sections[] = {
      {"Differs between the runs", comparison.notes, TextStyle::weak},
      {"Newly passing", comparison.newly_passing, TextStyle::good},
      {"Newly failing", comparison.newly_failing, TextStyle::bad},
      {"No longer judged", comparison.vanished, TextStyle::bad},
      {"Rules newly broken", comparison.newly_broken, TextStyle::bad},
      {"Measured worse", comparison.worse_measurements, TextStyle::bad},
  };
  std::string out;
  for (const Section& section : sections) {
    if (section.changes.empty()) continue;
    out += detail::styled(section.title, section.style, color) + ":\n";
    for (const BaselineChange& change : section.changes) {
      out += concat("  ", escape::line(change.where), ": ", escape::line(change.text), "\n");
    }
  }
  using detail::plural;
  const std::string verdict =
      comparison.good()
          ? "PASS: nothing is worse than in the baseline"
          : concat("FAIL: worse than in the baseline: ",
                   plural(comparison.newly_failing.size(), "newly failing test"), ", ",
                   plural(comparison.vanished.size(), "test no longer judged",
                          "tests no longer judged"),
                   ", ", plural(comparison.newly_broken.size(), "newly broken rule"), ", ",
                   plural(comparison.worse_measurements.size(), "worse measurement"));
  out += detail::styled(verdict, comparison.good() ? TextStyle::good : TextStyle::bad, color);
  return out + "\n";
}

}}}  // namespace tenon::TENON_RELEASE::conformance
