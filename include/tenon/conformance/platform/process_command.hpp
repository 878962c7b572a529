// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::conformance::platform {

/// Variables of the runner that a test must not have: they would choose other tests.
inline constexpr std::string_view variables_of_runner = "TENON_CONFORMANCE_";

/// A file that a process gets from the runner.
struct GivenFile {
  std::string option;   ///< "--channel=": the number of the file in the process is appended.
  int descriptor = -1;  ///< In the runner.
};

/// This program, started anew.
struct ProcessCommand {
  std::vector<std::string> arguments;  ///< With the name of the program.
  std::vector<GivenFile> files;        ///< One argument each, after the others.
  int output = -1;                     ///< Standard output and error. Standard input is empty.
  std::filesystem::path folder;        ///< For temporary files.
};

}  // namespace tenon::conformance::platform
