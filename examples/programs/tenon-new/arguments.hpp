// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <variant>

#include "tenon/core/result.hpp"
#include "tool.hpp"

namespace tenon::make_new {

/// The command line, taken apart.
struct Arguments {
  std::string name;  ///< Empty only with `list`.
  std::string id;    ///< Empty: the name's own.
  std::string template_name = "full";
  std::string directory = ".";
  bool list = false;
};

/// Reads the command line. InvalidArgument names the argument that is wrong or missing.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

}  // namespace tenon::make_new
