// SPDX-License-Identifier: MIT
#include "kit/verdict/complete.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "tenon/core/lists.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {
namespace {

using Names = std::set<std::string_view>;

/// The cases of each backend that any test was run with.
std::map<std::string_view, Names> cases_of(const SubjectReport& subject) {
  std::map<std::string_view, Names> out;
  for (const std::string& backend : subject.backends) out[backend];
  for (const TestResult& test : subject.tests) {
    if (!test.backend.empty() && !test.of_case.empty()) out[test.backend].insert(test.of_case);
  }
  return out;
}

Status check_test(const Names& backends, const TestResult& test, int level,
                  std::span<const KitTest> tests) {
  const auto wrong = [&](const auto&... parts) {
    return error(Error::InvalidArgument, "the report has the test ", host::quoted(test.path()),
                 ", ", parts...);
  };
  const auto known = std::ranges::find(tests, std::string_view(test.id), &KitTest::id);
  if (known == tests.end()) return wrong("which this version of the kit does not have");
  if (known->level > level) return wrong("which is of level ", known->level);
  if (const std::string rules = join(test.rules, " "); rules != known->rules) {
    return wrong("with the rules ", host::quoted(rules), ", expected ", known->rules);
  }
  if (known->scope == Scope::plugin ? !test.backend.empty() : !backends.contains(test.backend)) {
    return wrong(
        "for backend ", host::quoted(test.backend), ", expected ",
        known->scope == Scope::plugin ? "none: the test is about the plugin" : "one of the report");
  }
  if (known->scope != Scope::of_case && !test.of_case.empty()) {
    return wrong("for case ", host::quoted(test.of_case), ", expected none");
  }
  const bool is_good = test.outcome == Outcome::passed || test.outcome == Outcome::unsupported ||
                       test.outcome == Outcome::not_applicable;
  // The kit judges a test with one of these as failed.
  if (is_good && (!test.findings.empty() || !test.crashes.empty())) {
    return wrong(outcome_name(test.outcome), " with ",
                 test.findings.empty() ? "a crash" : "a broken rule", ", expected none");
  }
  return ok();
}

}  // namespace

Status check_complete(const SubjectReport& subject, int level,
                      std::span<const std::string> backends, std::span<const KitTest> tests) {
  const Names named(subject.backends.begin(), subject.backends.end());
  for (const std::string& backend : backends) {
    if (!named.contains(backend)) {
      return error(Error::InvalidArgument, "the report does not name backend ",
                   host::quoted(backend), ", which the plugin has");
    }
  }
  std::set<std::string> paths;
  for (const TestResult& test : subject.tests) {
    TENON_RETURN_IF_ERROR(check_test(named, test, level, tests));
    if (!paths.insert(test.path()).second) {
      return error(Error::InvalidArgument, "the report has the test ", host::quoted(test.path()),
                   " twice, expected once");
    }
  }
  const std::map<std::string_view, Names> cases = cases_of(subject);
  for (const KitTest& each : tests) {
    if (each.level > level) continue;
    TestResult wanted;
    wanted.id = each.id;
    const auto check = [&] {
      if (paths.contains(wanted.path())) return ok();
      return error(Error::InvalidArgument, "the report lacks the test ",
                   host::quoted(wanted.path()), ", expected each test of level ", level);
    };
    if (each.scope == Scope::plugin) {
      TENON_RETURN_IF_ERROR(check());
      continue;
    }
    for (const auto& [backend, of_backend] : cases) {
      wanted.backend = backend;
      wanted.of_case.clear();
      if (each.scope == Scope::backend || of_backend.empty()) {
        TENON_RETURN_IF_ERROR(check());
        continue;
      }
      for (const std::string_view of_case : of_backend) {
        wanted.of_case = of_case;
        TENON_RETURN_IF_ERROR(check());
      }
    }
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
