// SPDX-License-Identifier: MIT
#include "run.hpp"
#include "printed_lines.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "kit/boundary/watch.hpp"
#include "kit/platform/system.hpp"
#include "kit/platform/test_server.hpp"
#include "kit/process/breadcrumbs.hpp"
#include "kit/process/channel.hpp"
#include "kit/process/crash_reporter.hpp"
#include "kit/verdict/verdict.hpp"
#include "left_files.hpp"
#include "temporary_directory.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "test_process.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

RunOptions options_of(const Arguments& arguments, std::uint32_t repeat, bool own_process) {
  RunOptions options;
  options.seed = arguments.seed;
  options.level = arguments.level;
  options.repeat = repeat;
  options.own_process = own_process;
  return options;
}

/// Runs a test in this process. Afterwards `has_executed` is about this test.
Stop run_here(const Arguments& arguments, const Subject& subject, const SelectedTest& selected,
              Channel& channel, Breadcrumbs* crumbs, bool own_process,
              std::vector<Finding>& findings) {
  Context kit(subject, selected.test.backend, selected.test.of_case,
              options_of(arguments, selected.repeat, own_process), channel, crumbs,
              selected.blank.path_by_name());
  has_executed() = false;
  Stop stop = run_test(selected.test, kit);
  findings = kit.findings();
  return stop;
}

}  // namespace

void set_environment(const Subject& subject) {
  for (const TestVariable& one : subject.environment) platform::set_variable(one.name, one.value);
}

Result<GivenByRunner> take_from_runner(const Arguments& arguments) {
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  const int channel = platform::take_descriptor(arguments.channel);
  host::FileDescriptor shared(platform::take_descriptor(arguments.crumbs));
  TENON_TRY(Breadcrumbs crumbs, Breadcrumbs::open(std::move(shared)));
  TENON_TRY(std::string secret, Channel::take_secret(channel));
  return GivenByRunner{std::move(crumbs), channel, std::move(secret)};
}

bool become_process_of_test(Arguments& arguments, std::string& value) {
  if (arguments.server < 0) return true;
  auto given = platform::fork_tests(arguments.server);
  if (!given) return false;
  value = std::move(given->value);
  arguments.channel = given->numbers.at(0);
  arguments.crumbs = given->numbers.at(1);
  return true;
}

std::vector<std::string> server_command(const Arguments& arguments, const Subject& subject) {
  std::vector<std::string> out = {"tenon-conformance", host::path_text(*subject.plugin)};
  if (!subject.file.empty()) out.push_back(concat("--subject=", host::path_text(subject.file)));
  for (const std::string& directory : arguments.case_directories)
    out.push_back("--cases=" + directory);
  out.push_back(concat("--seed=", arguments.seed));
  out.push_back(concat("--level=", arguments.level));
  out.push_back(concat("--repeat=", arguments.repeat));
  return out;
}

Status run_one(Arguments arguments) {
  TENON_TRY(const std::vector<Subject> subjects, read_subjects(arguments));
  const std::vector<SelectedTest> tests = select_tests(arguments, subjects.at(0));
  if (!become_process_of_test(arguments, arguments.run_one)) return ok();
  set_environment(subjects[0]);
  TENON_TRY(GivenByRunner given, take_from_runner(arguments));
  Channel channel(given.channel, std::move(given.secret));
  for (const SelectedTest& selected : tests) {
    if (selected.blank.path() != arguments.run_one) continue;
    std::vector<Finding> findings;
    const CrashReporter reporter(channel);
    const Stop stop =
        run_here(arguments, subjects[0], selected, channel, &given.crumbs, true, findings);
    channel.outcome(stop.outcome, stop.reason, has_executed());
    channel.done();
    return ok();
  }
  return error(Error::NotFound, "there is no test ", arguments.run_one);
}

Result<std::vector<TestResult>> run_tests(const Arguments& arguments, const Subject& subject,
                                          const std::vector<SelectedTest>& tests,
                                          const OnProgress& on_progress) {
  TENON_TRY(const TemporaryDirectory directory, TemporaryDirectory::make());
  if (arguments.in_process) set_environment(subject);
  std::vector<TestResult> results(tests.size());
  std::mutex mutex;  // Of `done`, `failure` and the progress.
  std::size_t done = 0;
  Status failure;
  std::exception_ptr thrown;  // By a test's process, not by a test: no memory.
  std::atomic<std::size_t> next = 0;
  std::atomic<std::uint32_t> hangs = 0;

  const auto run = [&](std::size_t index, platform::TestServer& server) -> Status {
    const SelectedTest& selected = tests[index];
    TestResult& result = results[index];
    result = selected.blank;
    const std::string path = result.path();
    if (const Declaration* never = subject.unsupported(result)) {
      result.outcome = Outcome::unsupported;
      result.reason = never->reason;
    } else if (hangs >= arguments.max_hangs) {
      result.outcome = Outcome::blocked;
      result.reason = concat(arguments.max_hangs, " tests hung before (--max-hangs)");
    } else if (arguments.in_process) {
      Channel nowhere(-1);
      const Stop stop =
          run_here(arguments, subject, selected, nowhere, nullptr, false, result.findings);
      result.outcome = stop.outcome;
      result.reason = stop.reason;
      result.executed = has_executed();
      decide_outcome(result, subject.expected_failure(result));
    } else {
      const TestCommand command{"--run-one=", path,
                                std::chrono::duration<double>(arguments.timeout), *subject.plugin,
                                directory.path() / std::to_string(index)};
      TENON_RETURN_IF_ERROR(run_in_process_of_its_own(server, command, result));
      const bool hung = std::ranges::any_of(
          result.findings, [](const Finding& finding) { return finding.rule == "TN-BCK-8"; });
      if (hung) ++hangs;
      result.ended = result.outcome;
      decide_outcome(result, subject.expected_failure(result));
    }
    const std::lock_guard lock(mutex);
    on_progress(result, ++done, tests.size());
    return ok();
  };
  const auto work = [&]() noexcept {
    platform::TestServer server(server_command(arguments, subject));
    for (std::size_t index = next++; index < tests.size(); index = next++) {
      try {
        Status outcome = run(index, server);
        if (outcome.ok()) continue;
        const std::lock_guard lock(mutex);
        if (failure.ok()) failure = std::move(outcome);
      } catch (...) {
        const std::lock_guard lock(mutex);
        thrown = std::current_exception();
      }
      next = tests.size();
    }
  };
  const std::size_t jobs = arguments.in_process ? 1
                           : arguments.jobs != 0
                               ? arguments.jobs
                               : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> workers;
  try {
    for (std::size_t i = 1; i < std::min(jobs, tests.size()); ++i) workers.emplace_back(work);
  } catch (const std::system_error&) {
    // Fewer threads take longer.
  }
  work();
  workers.clear();
  if (thrown) std::rethrow_exception(thrown);
  TENON_RETURN_IF_ERROR(std::move(failure));
  judge_printed_lines(subject, results);
  judge_left_files(subject, results);
  return results;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
