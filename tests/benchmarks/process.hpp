// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "harness.hpp"

namespace tenon::bench {

/// A program to start: nothing of this process' environment reaches it.
struct Process {
  std::string program;  ///< Absolute path.
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< "NAME=value"
};

/// Starts the program, waits for its end and drops what it prints.
[[nodiscard]] Work run(const Process& process);

/// Returns the output of the program. `directory` is for a file in between.
[[nodiscard]] std::string output_of(const Process& process, const std::string& directory);

}  // namespace tenon::bench
