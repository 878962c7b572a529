// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/conformance/run/context.hpp"
#include "tenon/conformance/run/subject.hpp"
#include "tenon/conformance/run/test.hpp"
#include "tenon/core/api.hpp"
#include "tenon/core/status.hpp"

/// Which tests are run for a subject, and how one of them is run.
namespace tenon::conformance {

/// One test for one backend and one case.
struct PlannedTest {
  const TestInfo* info;
  const SubjectBackend* backend;  ///< Null for a test of the plugin.
  const Case* of_case;            ///< Null for a test that needs none.

  /// The result before the test is run.
  [[nodiscard]] TENON_API TestResult blank() const;
};

/// All tests for `subject`, in the order of `all_tests()`, then of its backends and cases. A test
/// of a case for a backend without cases is planned once, without a case. The plan refers to
/// `subject`.
[[nodiscard]] TENON_API std::vector<PlannedTest> plan_tests(const Subject& subject);

/// Adds to the author's declarations what files say: each backend of the plugin's record, and each
/// case of `folders` for the backends that its program names. A plugin without a readable record
/// gets no backends; the tests of the file report why.
///
/// errors: InvalidArgument when `subject` names no plugin; those of `read_cases` and
/// `host::Program::open`.
[[nodiscard]] TENON_API Status complete_subject(Subject& subject,
                                                const std::vector<std::string>& folders);

/// InvalidArgument, with its place, for a declaration of a complete `subject` that matches none of
/// its tests, of whatever level: it is misspelt, or about a test or case that was removed.
[[nodiscard]] TENON_API Status check_declarations(const Subject& subject);

/// Runs the body of a test. Every exception of the body becomes an outcome.
[[nodiscard]] TENON_API Stop run_test(const PlannedTest& test, Context& kit);

/// Decides the outcome of a test that ended: with findings it failed, whatever it reported itself,
/// and the author's expectations apply to that. The outcome of the run is that of `is_good`
/// (tenon/conformance/report/view.hpp).
TENON_API void apply_declarations(const Subject& subject, TestResult& result);

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS
#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <utility>

#include "tenon/conformance/case/case_file.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/binary/peek.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::conformance {

TENON_API TestResult PlannedTest::blank() const {
  TestResult result;
  result.name = info->name;
  result.suite = info->suite;
  result.level = info->level;
  if (backend) result.backend = backend->id;
  if (of_case) result.of_case = of_case->name;
  result.rules.assign(info->rules.begin(), info->rules.end());
  return result;
}

TENON_API std::vector<PlannedTest> plan_tests(const Subject& subject) {
  std::vector<PlannedTest> out;
  for (const TestInfo& info : all_tests()) {
    if (info.scope == Scope::plugin) {
      out.push_back({&info, nullptr, nullptr});
      continue;
    }
    for (const SubjectBackend& backend : subject.backends) {
      if (info.scope == Scope::backend || backend.cases.empty()) {
        out.push_back({&info, &backend, nullptr});
        continue;
      }
      for (const Case& of_case : backend.cases) out.push_back({&info, &backend, &of_case});
    }
  }
  return out;
}

namespace detail {

inline bool uses_backend(const schema::ExecutionPlan& plan, std::string_view id) {
  if (!plan.delegates()) return false;
  return std::any_of(plan.delegates()->begin(), plan.delegates()->end(),
                     [&](const auto* delegate) { return delegate->id()->string_view() == id; });
}

}  // namespace detail

TENON_API Status complete_subject(Subject& subject, const std::vector<std::string>& folders) {
  if (!subject.plugin) return error(Error::InvalidArgument, "the subject names no plugin");
  subject.plugin = std::filesystem::absolute(*subject.plugin).lexically_normal();
  if (const auto record = host::peek(*subject.plugin); record.ok()) {
    for (const host::BackendRecord& one : record->backends) {
      if (subject.backend(one.id)) continue;
      SubjectBackend backend;
      backend.id = one.id;
      subject.backends.push_back(std::move(backend));
    }
  }
  for (const std::string& folder : folders) {
    TENON_TRY(const std::vector<Case> cases, read_cases(folder));
    for (const Case& of_case : cases) {
      TENON_TRY(const auto program, host::Program::open(of_case.program));
      TENON_TRY(const auto* plan, program->plan(of_case.method));
      for (SubjectBackend& backend : subject.backends) {
        if (detail::uses_backend(*plan, backend.id)) backend.cases.push_back(of_case);
      }
    }
  }
  return ok();
}

TENON_API Status check_declarations(const Subject& subject) {
  std::vector<TestResult> tests;
  for (const PlannedTest& test : plan_tests(subject)) tests.push_back(test.blank());
  const std::vector<const Declaration*> unmatched = subject.unmatched(tests);
  if (unmatched.empty()) return ok();
  std::string more;
  for (std::size_t i = 1; i < unmatched.size(); ++i) {
    more += concat(i == 1 ? "; nor do " : ", ", unmatched[i]->where);
  }
  return error(Error::InvalidArgument, host::path_text(subject.file),
               subject.file.empty() ? "" : ": ", unmatched[0]->where,
               ".test: ", host::quoted(unmatched[0]->test),
               " matches no test of the plugin and no rule (tenon-conformance --level 10 --list "
               "lists them)",
               more);
}

TENON_API Stop run_test(const PlannedTest& test, Context& kit) {
  if (test.info->scope == Scope::of_case && !test.of_case) {
    if (!test.backend->no_cases.empty()) return {Outcome::unsupported, test.backend->no_cases};
    return {Outcome::blocked, concat("there is no case for backend ", test.backend->id,
                                     "; give some with --cases or a subject file")};
  }
  try {
    test.info->body(kit);
  } catch (Stop& stop) {
    return std::move(stop);
  } catch (const std::bad_alloc&) {
    return {Outcome::kit_error, "out of memory"};
  } catch (const std::exception& thrown) {
    return {Outcome::kit_error, thrown.what()};
  }
  return {Outcome::passed, {}};
}

TENON_API void apply_declarations(const Subject& subject, TestResult& result) {
  if (!result.findings.empty()) result.outcome = Outcome::failed;
  const Declaration* expected = subject.expected_failure(result.path(), result.rules);
  if (!expected) return;
  if (result.outcome == Outcome::failed) {
    result.outcome = Outcome::expected_failure;
    result.reason = expected->reason;
  } else if (result.outcome == Outcome::passed) {
    result.outcome = Outcome::unexpected_pass;
    result.reason =
        concat("passed, but ", expected->where, " says that it fails: ", expected->reason);
  }
}

}  // namespace tenon::conformance
#endif  // TENON_CONFORMANCE_DEFINITIONS
