// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "color.hpp"
#include "tenon/core/result.hpp"
#include "tool.hpp"

namespace tenon::list {

/// The command line, taken apart.
struct Arguments {
  bool all = false;
  std::vector<std::string> tags;
  bool places = false;
  bool json = false;
  ColorWhen color = ColorWhen::automatic;
};

/// Reads the command line. InvalidArgument names the argument that is wrong.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

}  // namespace tenon::list
