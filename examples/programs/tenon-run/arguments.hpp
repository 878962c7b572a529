// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tenon/core/application/scheduling.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/layers/code/embedded_code.hpp"
#include "tool.hpp"
#include "tool_limits.hpp"

namespace tenon::run {

/// The command line, taken apart.
struct Arguments {
  std::string model;
  std::string method;  ///< Empty: "forward", or the only method there is.
  std::vector<std::string> plugins;
  std::string isolate;  ///< Profile of the workers of `plugins`; empty: they run in this process.
  std::vector<std::string> data;
  std::vector<std::string> inputs;
  std::vector<std::string> expected;
  std::optional<double> rtol;
  std::optional<double> atol;
  std::string output;
  std::vector<std::string> options;
  host::EmbeddedCodePolicy embedded_code = host::EmbeddedCodePolicy::allow();
  tool::ToolLimits limits;
  Scheduling scheduling;      ///< Hints for the backends.
  std::uint32_t threads = 0;  ///< Of a pool for the backends; 0: none.
  std::vector<host::DeviceBytes> budget;
  bool prepared = false;             ///< Whether what plugins prepare is kept for later loads.
  std::string variant;               ///< Empty: the best one.
  std::string without_cpu_features;  ///< With commas between them.
  bool memory = false;               ///< Whether the method's memory is reported.
  std::uint32_t top = 0;             ///< 0: classes are not reported.
  std::string labels;
  std::uint32_t repeat = 1;
  std::string trace;
  std::string compare_layers;  ///< A program or a plugin; empty: layers are not compared.
  std::string plot;
  bool json = false;
};

/// Reads the command line. InvalidArgument names the argument that is wrong.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

}  // namespace tenon::run
