// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <utility>

#include "kit/process/channel.hpp"
#include "kit/run/plan.hpp"
#include "kit/verdict/rule.hpp"
#include "kit/verdict/verdict.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/conformance/test.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

Subject& embedded_subject() {
  static Subject subject;
  return subject;
}

/// Not when it is set: the suites may not be registered yet.
Result<const Subject*> checked(const Subject& subject) {
  TENON_RETURN_IF_ERROR(check_declarations(subject));
  return &subject;
}

Result<const Subject*> needed_subject() {
  Subject& subject = embedded_subject();
  if (subject.plugin) return checked(subject);
  const char* file = std::getenv("TENON_CONFORMANCE_SUBJECT");
  if (!file) {
    return error(Error::InvalidState,
                 "no subject: call set_subject or set TENON_CONFORMANCE_SUBJECT");
  }
  TENON_TRY(Subject read, conformance::read_subject(file));
  if (!read.plugin) return error(Error::InvalidArgument, file, ": names no plugin");
  TENON_RETURN_IF_ERROR(set_subject(std::move(read)));
  return checked(subject);
}

}  // namespace

namespace detail {

std::vector<EmbeddedResult> run_embedded(std::string_view name) {
  std::vector<EmbeddedResult> out;
  const auto needed = needed_subject();
  if (!needed.ok()) {
    out.push_back({{}, {std::string(needed.text())}, {}});
    return out;
  }
  const Subject& subject = **needed;
  RunOptions options;
  options.own_process = false;
  for (const PlannedTest& test : plan_tests(subject)) {
    if (test.info->name != name) continue;
    TestResult result = test.blank();
    if (subject.unsupported(result)) continue;
    Channel nowhere(-1);
    Context kit(subject, test.backend, test.of_case, options, nowhere, nullptr,
                result.path_by_name());
    Stop stop = run_test(test, kit);
    result.outcome = stop.outcome;
    result.reason = std::move(stop.reason);
    result.findings = kit.findings();
    decide_outcome(result, subject.expected_failure(result));
    EmbeddedResult& embedded = out.emplace_back();
    embedded.path = result.path();
    const bool fails = is_bad(result.outcome) || result.outcome == Outcome::blocked;
    if (fails && !result.reason.empty()) embedded.failures.push_back(result.reason);
    for (const Finding& finding : result.findings) {
      const Rule* rule = find_rule(finding.rule);
      if (fails) {
        embedded.failures.push_back(
            concat(finding.rule, " (", rule ? rule->sentence : "?", "): ", finding.text));
      } else {
        embedded.expected.push_back(concat(finding.rule, ": ", finding.text));
      }
    }
  }
  return out;
}

}  // namespace detail

Status set_subject(Subject subject) {
  TENON_RETURN_IF_ERROR(complete_subject(subject, {}));
  embedded_subject() = std::move(subject);
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
