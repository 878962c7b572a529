// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/conformance/case_file.hpp"
#include "tenon/conformance/context.hpp"
#include "tenon/conformance/result.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/host/peek.hpp"
#include "tenon/host/program.hpp"

/// Which tests are run for a subject, and how one of them is run.
namespace tenon::conformance {

/// One test for one backend and one case.
struct PlannedTest {
  const TestInfo* info;
  const SubjectBackend* backend;  ///< Null for a test of the plugin.
  const Case* of_case;            ///< Null for a test that needs none.

  /// What is known of the result before the test is run.
  [[nodiscard]] TestResult blank() const {
    TestResult result;
    result.name = info->name;
    result.suite = info->suite;
    result.level = info->level;
    if (backend) result.backend = backend->id;
    if (of_case) result.of_case = of_case->name;
    result.rules.assign(info->rules.begin(), info->rules.end());
    return result;
  }
};

/// All tests for `subject`, in the order of `all_tests()`, then of its backends and cases. A test
/// of a case for a backend without cases is planned once, without a case.
[[nodiscard]] inline std::vector<PlannedTest> plan_tests(const Subject& subject) {
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

/// Completes what the author declares by what the file says: each backend of its record, and each
/// case of `folders` for the backends that its program names. A file without a readable record
/// gets no backends; the tests of the file tell why.
///
/// errors: those of `read_cases` and `host::Program::open`.
[[nodiscard]] inline Status complete_subject(Subject& subject,
                                             const std::vector<std::string>& folders) {
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
        const bool used =
            plan->delegates() && std::ranges::any_of(*plan->delegates(), [&](const auto* delegate) {
              return delegate->id()->string_view() == backend.id;
            });
        if (used) backend.cases.push_back(of_case);
      }
    }
  }
  return ok();
}

/// Runs the body of a test. Whatever it throws becomes the outcome.
[[nodiscard]] inline Stop run_test(const PlannedTest& test, Context& kit) {
  if (test.info->scope == Scope::of_case && !test.of_case) {
    return {Outcome::not_applicable, concat("there is no case for backend ", test.backend->id,
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

/// What the declarations of the author make of an outcome.
inline void apply_declarations(const Subject& subject, TestResult& result) {
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
