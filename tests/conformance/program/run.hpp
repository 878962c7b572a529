// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "kit/process/breadcrumbs.hpp"
#include "kit/run/plan.hpp"
#include "tenon/conformance/result.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The subjects on the command line: each plugin, and each subject file with its plugin.
[[nodiscard]] Result<std::vector<Subject>> read_subjects(const Arguments& arguments);

/// One run of a planned test.
struct SelectedTest {
  PlannedTest test;
  std::uint32_t repeat = 0;
  TestResult blank;
};

/// The tests of one subject that the command line asks for, in the order in which they are run.
[[nodiscard]] std::vector<SelectedTest> select_tests(const Arguments& arguments,
                                                     const Subject& subject);

/// The settings of the process that runs one test.
struct GivenByRunner {
  Breadcrumbs crumbs;
  int channel;         ///< Its descriptor, which stays open.
  std::string secret;  ///< Of the channel.
};
/// Takes it, once, from the descriptors on the command line.
/// errors: AccessFailed.
[[nodiscard]] Result<GivenByRunner> take_from_runner(const Arguments& arguments);

/// With `--server`: forks a process for each request of the runner. Returns true in each of them,
/// with the descriptors in `arguments` and the value of the request in `value`, and false in the
/// server, once the runner needs no more. True at once without `--server`. One thread.
[[nodiscard]] bool become_process_of_test(Arguments& arguments, std::string& value);

/// Sets the variables that the subject declares, in the process of a test, before it loads the
/// plugin.
void set_environment(const Subject& subject);

/// The command of a server for tests of `subject`, without its last option: the name of the
/// program, the plugin, and what decides how tests are run.
[[nodiscard]] std::vector<std::string> server_command(const Arguments& arguments,
                                                      const Subject& subject);

/// Runs the test that `--run-one` or the runner's request names in this process, and writes its
/// findings to `--channel`.
[[nodiscard]] Status run_one(Arguments arguments);

/// Called after each test, from any thread, one at a time.
using OnProgress = std::function<void(const TestResult&, std::size_t done, std::size_t total)>;

/// Runs all selected tests, each in a process of its own, `--jobs` at a time. The results are in
/// the order of `tests`. Files that they left are judged together, at the end.
[[nodiscard]] Result<std::vector<TestResult>> run_tests(const Arguments& arguments,
                                                        const Subject& subject,
                                                        const std::vector<SelectedTest>& tests,
                                                        const OnProgress& on_progress);

}}}  // namespace tenon::TENON_RELEASE::conformance
