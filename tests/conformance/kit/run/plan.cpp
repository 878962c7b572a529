// SPDX-License-Identifier: MIT
#include "kit/run/plan.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <utility>

#include "tenon/conformance/case.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TestResult PlannedTest::blank() const {
  TestResult result;
  result.id = info->id;
  result.name = info->name;
  result.suite = info->suite;
  result.level = info->level;
  if (backend) result.backend = backend->id;
  if (of_case) result.of_case = of_case->name;
  result.rules.assign(info->rules.begin(), info->rules.end());
  return result;
}

std::vector<PlannedTest> plan_tests(const Subject& subject) {
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

namespace {

bool uses_backend(const schema::ExecutionPlan& plan, std::string_view id) {
  if (!plan.delegates()) return false;
  return std::any_of(plan.delegates()->begin(), plan.delegates()->end(),
                     [&](const auto* delegate) { return delegate->id()->string_view() == id; });
}

}  // namespace

Status complete_subject(Subject& subject, const std::vector<std::string>& directories) {
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
  for (const std::string& directory : directories) {
    TENON_TRY(const std::vector<Case> cases, read_cases(directory));
    for (const Case& of_case : cases) {
      TENON_TRY(const auto program, host::Program::open(of_case.program));
      TENON_TRY(const auto* plan, program->plan(of_case.method));
      for (SubjectBackend& backend : subject.backends) {
        if (uses_backend(*plan, backend.id)) backend.cases.push_back(of_case);
      }
    }
  }
  return ok();
}

Status check_declarations(const Subject& subject) {
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

Stop run_test(const PlannedTest& test, Context& kit) {
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

}}}  // namespace tenon::TENON_RELEASE::conformance
