// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/status.hpp"

/// Which tests are run for a subject, and how one of them is run.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// One test for one backend and one case.
struct PlannedTest {
  const TestInfo* info;
  const SubjectBackend* backend;  ///< Null for a test of the plugin.
  const Case* of_case;            ///< Null for a test that needs none.

  /// The result before the test is run.
  [[nodiscard]] TestResult blank() const;
};

/// All tests for `subject`, in the order of `all_tests()`, then of its backends and cases. A test
/// of a case for a backend without cases is planned once, without a case. The plan refers to
/// `subject`.
[[nodiscard]] std::vector<PlannedTest> plan_tests(const Subject& subject);

/// Adds to the author's declarations what files say: each backend of the plugin's record, and each
/// case of `directories` for the backends that its program names. A plugin without a readable
/// record gets no backends; the tests of the file report why.
///
/// errors: InvalidArgument when `subject` names no plugin; otherwise as `read_cases` and
/// `host::Program::open`.
[[nodiscard]] Status complete_subject(Subject& subject,
                                      const std::vector<std::string>& directories);

/// InvalidArgument, with its place, for a declaration of a complete `subject` that matches none of
/// its tests, of whatever level: it is misspelt, or about a test or case that was removed.
[[nodiscard]] Status check_declarations(const Subject& subject);

/// Runs the body of a test. Every exception of the body becomes an outcome; with the findings and
/// the author's declarations, `decide_outcome` (kit/verdict/verdict.hpp) makes the outcome of
/// the test of it.
[[nodiscard]] Stop run_test(const PlannedTest& test, Context& kit);

}}}  // namespace tenon::TENON_RELEASE::conformance
