// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "kit/platform/test_server.hpp"
#include "tenon/conformance/result.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// One test in a process of a server.
struct TestCommand {
  std::string option;  ///< Of this program, that says which test: "--run-one=".
  std::string value;
  std::chrono::duration<double> timeout;
  std::filesystem::path plugin;     ///< As the reports name it.
  std::filesystem::path directory;  ///< For files of the plugin (TMPDIR); created and removed here.
};

/// Runs one test in a process of its own and writes what it reported and what was found to
/// `result`, whatever happens to that process; `decide_outcome` decides whether it failed. Ends
/// the whole group of processes that the test started. Any thread, with a server of its own.
///
/// errors: AccessFailed when no process can be started.
[[nodiscard]] Status run_in_process_of_its_own(platform::TestServer& server,
                                               const TestCommand& command, TestResult& result);

}}}  // namespace tenon::TENON_RELEASE::conformance
