// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/rules/rulebook.hpp"
#include "conformance/rules/tags.hpp"

namespace tenon::rulebook {

/// A rule for plugins that no test of the kit can observe, and the reason.
struct NotObservable {
  std::string rule;    ///< "TN-STR-2".
  std::string reason;  ///< Ends with a full stop.
  std::size_t line = 0;
};

/// The list of such rules: a line each, the id first. Lines that begin with # are comments.
[[nodiscard]] inline std::vector<NotObservable> read_not_observable(std::string_view text) {
  std::vector<NotObservable> out;
  std::size_t number = 0;
  for (const std::string_view line : detail::split_lines(text)) {
    ++number;
    if (detail::trim(line).empty() || line.starts_with('#')) continue;
    const std::size_t end = std::min(line.find(' '), line.size());
    out.push_back(
        {std::string(line.substr(0, end)), std::string(detail::trim(line.substr(end))), number});
  }
  return out;
}

inline constexpr std::string_view not_observable_file =
    "tests/conformance/rules/not_observable.txt";

/// Rules, and the tests that name them.
struct Survey {
  std::vector<Rule> rules;
  std::vector<ConformanceTest> tests;
  TaggedFiles files;
  std::vector<NotObservable> not_observable;

  [[nodiscard]] const Rule* find(std::string_view id) const {
    const auto found = std::ranges::find(rules, id, &Rule::id);
    return found == rules.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::vector<const ConformanceTest*> tests_of(std::string_view id) const {
    std::vector<const ConformanceTest*> out;
    for (const ConformanceTest& test : tests) {
      if (std::ranges::find(test.tags, id) != test.tags.end()) out.push_back(&test);
    }
    return out;
  }

  [[nodiscard]] const NotObservable* exception_for(std::string_view id) const {
    const auto found = std::ranges::find(not_observable, id, &NotObservable::rule);
    return found == not_observable.end() ? nullptr : &*found;
  }
};

/// Mistakes in the tests of the kit.
[[nodiscard]] inline std::vector<Problem> wrong_tests(const Survey& survey) {
  std::vector<Problem> out;
  std::map<std::string_view, const ConformanceTest*> ids, names;
  for (const ConformanceTest& test : survey.tests) {
    const auto complain = [&](std::string text) {
      out.push_back({test.file, test.line, std::move(text)});
    };
    const auto must_be_new = [&](const std::string& text, std::string_view what, auto& known) {
      const auto [other, is_new] = known.emplace(text, &test);
      if (is_new) return;
      complain("\"" + text + "\" is the " + std::string(what) + " of a test in " +
               other->second->file + ":" + std::to_string(other->second->line) + " already");
    };
    must_be_new(test.id, "id", ids);
    must_be_new(test.name, "name", names);
    if (!test.id.starts_with(test.tags.front() + "/")) {
      complain("\"" + test.id + "\" does not begin with its suite [" + test.tags.front() + "]");
    }
    const std::vector<std::string> rules = test.rules();
    if (rules.empty()) complain("\"" + test.name + "\" names no rule in its tags");
    for (const std::string& id : rules) {
      const Rule* rule = survey.find(id);
      if (rule == nullptr) {
        complain(id + " is not a rule of the boundary");
      } else if (rule->keeper() == Keeper::host) {
        complain(id + " is a rule for hosts; no plugin can break it");
      }
    }
  }
  return out;
}

/// Mistakes in the list of rules that cannot be observed.
[[nodiscard]] inline std::vector<Problem> wrong_exceptions(const Survey& survey) {
  std::vector<Problem> out;
  for (const NotObservable& exception : survey.not_observable) {
    const std::string& id = exception.rule;
    const auto complain = [&](std::string_view text) {
      out.push_back({std::string(not_observable_file), exception.line, id + std::string(text)});
    };
    const Rule* rule = survey.find(id);
    if (rule == nullptr) {
      complain(" is not a rule of the boundary");
      continue;
    }
    if (rule->keeper() == Keeper::host)
      complain(" is a rule for hosts, which the kit never judges");
    if (!exception.reason.ends_with('.')) complain(" has no reason that ends with a full stop");
    if (!survey.tests_of(id).empty()) complain(" has a conformance test");
    if (!survey.files.contains(id)) complain(" is in no unit test's tags either");
  }
  return out;
}

/// Rules of hosts that no test in tests/ names.
[[nodiscard]] inline std::vector<Problem> untested_by_hosts(const Survey& survey) {
  std::vector<Problem> out;
  for (const Rule& rule : survey.rules) {
    if (rule.keeper() == Keeper::plugin || survey.files.contains(rule.id)) continue;
    out.push_back({"include/" + rule.header, rule.line, rule.id + " is in no test's tags"});
  }
  return out;
}

/// Rules of plugins that no conformance test names, although one could.
[[nodiscard]] inline std::vector<Problem> untested_by_plugins(const Survey& survey) {
  std::vector<Problem> out;
  for (const Rule& rule : survey.rules) {
    if (rule.keeper() == Keeper::host || !survey.tests_of(rule.id).empty()) continue;
    if (survey.exception_for(rule.id) != nullptr) continue;
    out.push_back({"include/" + rule.header, rule.line, rule.id + " has no conformance test"});
  }
  return out;
}

}  // namespace tenon::rulebook
