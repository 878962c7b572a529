// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <variant>

#include "doctor.hpp"
#include "print_and_exit.hpp"
#include "tenon/core/result.hpp"

namespace tenon::doctor {

/// Reads the command line. InvalidArgument names the argument that is wrong.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

}  // namespace tenon::doctor
