// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <variant>

#include "compile.hpp"
#include "print_and_exit.hpp"
#include "tenon/core/result.hpp"

namespace tenon::compile {

/// Reads the command line. errors: InvalidArgument, which names the wrong argument.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

}  // namespace tenon::compile
