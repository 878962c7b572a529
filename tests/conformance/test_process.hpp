// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/core/result.hpp"

namespace tenon::conformance {

/// How to call this program for one test.
struct TestCommand {
  std::vector<std::string> arguments;  ///< Without the program and the descriptors.
  std::chrono::duration<double> timeout;
  std::filesystem::path folder;  ///< For files of the plugin (TMPDIR); made and removed here.
};

/// Runs one test in a process of its own and fills what came of it into `result`, whatever happens
/// to that process: when it ends, the whole group of processes that it may have started is gone.
/// Several may run at a time, from several threads.
///
/// errors: AccessFailed, when no process could be started.
[[nodiscard]] Status run_in_process_of_its_own(const TestCommand& command, TestResult& result);

}  // namespace tenon::conformance
