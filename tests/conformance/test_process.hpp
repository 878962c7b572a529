// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/core/result.hpp"

namespace tenon::conformance {

/// The command of this program for one test.
struct TestCommand {
  std::vector<std::string> arguments;  ///< Without the program name and the descriptors.
  std::chrono::duration<double> timeout;
  std::filesystem::path plugin;  ///< As the reports name it.
  std::filesystem::path folder;  ///< For files of the plugin (TMPDIR); created and removed here.
};

/// Runs one test in a process of its own and writes its outcome to `result`, whatever happens to
/// that process. Ends the whole group of processes that the test started. Any thread.
///
/// errors: AccessFailed when no process can be started.
[[nodiscard]] Status run_in_process_of_its_own(const TestCommand& command, TestResult& result);

}  // namespace tenon::conformance
