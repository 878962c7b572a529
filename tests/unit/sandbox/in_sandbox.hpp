// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sandbox/sandbox.hpp"

namespace tenon::test {

/// What came of work in a process of its own.
struct Outcome {
  /// Of the work; -1 when a signal ended it.
  int code = -1;
  int signal = 0;
  std::vector<isolated::Violation> violations;
  /// Why the process could not be restricted.
  std::string failure;

  /// The violations, one a line.
  [[nodiscard]] std::string text() const;
  /// Whether `call` was refused or ended the process.
  [[nodiscard]] bool has(const std::string& call) const;
};

/// Runs `work` in a child that is restricted first. It returns 0 for "done", another number for
/// what the test wants to know, such as errno.
Outcome in_sandbox(isolated::SandboxOptions options, const std::function<int()>& work);

/// Whether this machine can run the tests: Landlock, and a program that no sanitizer watches.
/// Prints why not.
bool can_run();

}  // namespace tenon::test
