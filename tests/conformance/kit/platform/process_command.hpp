// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// Variables of the runner that a test must not have: they would choose other tests.
inline constexpr std::string_view variables_of_runner = "TENON_CONFORMANCE_";

/// A file that a process gets from the runner.
struct GivenFile {
  std::string option;   ///< "--channel=": the number of the file in the process is appended.
  int descriptor = -1;  ///< In the runner.
};

/// A process of a `TestServer`.
struct ProcessCommand {
  std::string option;               ///< "--run-one=": what `value` is.
  std::string value;                ///< As in a command line, so without NUL.
  std::vector<GivenFile> files;     ///< The channel and the breadcrumbs.
  int output = -1;                  ///< Standard output and error. Standard input is empty.
  std::filesystem::path directory;  ///< For temporary files.
};

/// How a process ended.
struct ProcessEnd {
  std::string how;            ///< "exit(3)", "signal 9 ended the process".
  bool server_ended = false;  ///< Or the process that started it was, or was stopped.
};

/// The runner's part of a process that was forked off a server.
struct GivenProcess {
  std::string value;         ///< Of the `ProcessCommand`.
  std::vector<int> numbers;  ///< Of its files, in their order.
};

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
