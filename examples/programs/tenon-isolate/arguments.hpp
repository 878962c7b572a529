// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tenon/core/result.hpp"
#include "tool.hpp"

namespace tenon::isolate {

/// The command line, taken apart.
struct Arguments {
  std::string plugin;
  std::string out;     ///< Empty: PLUGIN-isolated.so next to the plugin.
  std::string worker;  ///< Empty: where it belongs to this program.
  std::uint64_t deadline_ms = 0;
  std::uint32_t restart = 0;
  bool own_worker = false;
  bool share_memory = false;
  std::string profile = "none";
  std::vector<std::string> readable;
  std::vector<std::string> writable;
  std::vector<std::string> devices;
  std::vector<std::string> programs;
  bool force = false;
  bool json = false;
};

/// Reads the command line. InvalidArgument names the argument that is wrong.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

}  // namespace tenon::isolate
