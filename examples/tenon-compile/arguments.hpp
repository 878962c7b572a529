// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <variant>

#include "compile.hpp"
#include "tenon/core/result.hpp"

namespace tenon::compile {

/// What `--help` and `--version` ask for: a text to print, and nothing else to do.
struct PrintAndExit {
  std::string text;
};

/// Reads the command line. InvalidArgument names the argument that is wrong.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

}  // namespace tenon::compile
