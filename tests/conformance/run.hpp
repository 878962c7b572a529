// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "arguments.hpp"
#include "tenon/conformance/plan.hpp"
#include "tenon/conformance/result.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/core/result.hpp"

namespace tenon::conformance {

/// The subjects that the command line names: each plugin, and each subject file with its plugin.
[[nodiscard]] Result<std::vector<Subject>> read_subjects(const Arguments& arguments);

/// One planned test and how often it is run.
struct SelectedTest {
  PlannedTest test;
  std::uint32_t repeat = 0;
  TestResult blank;
};

/// The tests of one subject that the command line asks for, in the order in which they are run.
/// InvalidArgument for a `--shard` that is none.
[[nodiscard]] Result<std::vector<SelectedTest>> select_tests(const Arguments& arguments,
                                                             const Subject& subject);

/// Runs the one test that `--run-one` names, in this process, and writes what it finds to
/// `--channel`.
[[nodiscard]] Status run_one(const Arguments& arguments);

/// Called after each test, from any thread, one at a time.
using OnProgress = std::function<void(const TestResult&, std::size_t done, std::size_t total)>;

/// Runs all selected tests, each in a process of its own, `--jobs` at a time. The results stand in
/// the order of `tests`.
[[nodiscard]] Result<std::vector<TestResult>> run_tests(const Arguments& arguments,
                                                        const Subject& subject,
                                                        const std::vector<SelectedTest>& tests,
                                                        const OnProgress& on_progress);

}  // namespace tenon::conformance
