// SPDX-License-Identifier: MIT
#pragma once

#include <variant>

#include "pack.hpp"
#include "print_and_exit.hpp"
#include "tenon/core/result.hpp"

namespace tenon::pack {

/// Reads the command line. errors: InvalidArgument and NotSupported, which name the wrong argument.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

}  // namespace tenon::pack
