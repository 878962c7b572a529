// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <string>
#include <utility>

#include "tenon/conformance/plan.hpp"
#include "tenon/conformance/rule.hpp"
#include "tenon/conformance/subject_file.hpp"
#include "tenon/conformance/test.hpp"

/// The suites inside an author's own Catch2 program: include `tenon/conformance/suites.hpp` in one
/// source, and say what is judged with `set_subject` before the session runs, or with the variable
/// TENON_CONFORMANCE_SUBJECT (a subject file that names its plugin).
namespace tenon::conformance {

namespace detail {

inline Subject& embedded_subject() {
  static Subject subject;
  return subject;
}

inline Subject& needed_subject() {
  Subject& subject = embedded_subject();
  if (subject.plugin) return subject;
  const char* file = std::getenv("TENON_CONFORMANCE_SUBJECT");
  if (!file) return subject;
  auto read = conformance::read_subject(file);
  if (!read.ok()) FAIL(read.text());
  subject = *std::move(read);
  if (Status completed = complete_subject(subject, {}); !completed.ok()) FAIL(completed.text());
  return subject;
}

/// Runs the test with that name for everything it is about, one after the other in this process. A
/// broken rule fails the test case with its sentence.
inline void run_in_catch(std::string_view name) {
  const Subject& subject = needed_subject();
  if (!subject.plugin) FAIL("no subject: call set_subject or set TENON_CONFORMANCE_SUBJECT");
  RunOptions options;
  options.own_process = false;
  for (const PlannedTest& test : plan_tests(subject)) {
    if (test.info->name != name) continue;
    const std::string path = test.blank().path();
    if (subject.unsupported(path, test.blank().rules)) continue;
    Channel nowhere(-1);
    Context kit(subject, test.backend, test.of_case, options, nowhere, nullptr, path);
    const Stop stop = run_test(test, kit);
    INFO(path);
    if (stop.outcome == Outcome::blocked || stop.outcome == Outcome::kit_error) {
      FAIL_CHECK(stop.reason);
    }
    const bool expected = subject.expected_failure(path, test.blank().rules) != nullptr;
    for (const Finding& finding : kit.findings()) {
      const Rule* rule = find_rule(finding.rule);
      if (expected) {
        WARN(finding.rule << ": " << finding.text);
      } else {
        FAIL_CHECK(finding.rule << " (" << (rule ? rule->sentence : "?") << "): " << finding.text);
      }
    }
    SUCCEED(path);
  }
}

}  // namespace detail

/// The plugin that the suites judge. Call it before the session runs.
inline Status set_subject(Subject subject) {
  TENON_CHECK(complete_subject(subject, {}));
  detail::embedded_subject() = std::move(subject);
  return ok();
}

}  // namespace tenon::conformance
