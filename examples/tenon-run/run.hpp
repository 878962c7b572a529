// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/compare_arrays.hpp"
#include "top.hpp"

namespace tenon::run {

/// What the process exits with. The stage decides, not the number of the error: a file for an input
/// that is damaged is wrong usage, a damaged program is an invalid file.
enum class ExitCode : int {
  success = 0,
  outputs_differ = 1,
  wrong_usage = 2,   ///< Arguments; files for inputs, expected outputs, results and traces.
  invalid_file = 3,  ///< The program, its external data or a plugin; an operator without a kernel.
  no_backend = 4,    ///< A backend is missing or not available, `init` failed, or code of the
                     ///< program is not permitted.
  execute_failed = 5,  ///< `execute` failed.
};

struct PluginReport {
  std::string path;
  std::string name;
  std::string version;
  std::vector<std::string> backends;
};

struct InputReport {
  std::string file;
  std::string type;  ///< "Float [1, 3]"
  ScalarType dtype = ScalarType::Float;
  std::vector<std::int64_t> shape;
};

struct OutputReport {
  std::string kind;                 ///< "Tensor", "Int", ...
  std::string type;                 ///< "Float [1, 3]", "Int", "ListInt [4]"
  std::optional<ScalarType> dtype;  ///< Absent for text and None.
  std::vector<std::int64_t> shape;
  std::string text;                          ///< The first elements, or the whole value.
  std::vector<std::vector<ClassScore>> top;  ///< For each row; empty when not asked for.
  std::string file;                          ///< Where it was written; empty when it was not.
  std::string expected_file;                 ///< Empty when nothing was expected.
  std::optional<host::Comparison> comparison;
};

/// How long each stage took, in nanoseconds.
struct Timings {
  std::uint64_t open_ns = 0;  ///< Reading the program and its external data.
  std::uint64_t backends_ns =
      0;                      ///< Loading plugins and asking backends whether they are available.
  std::uint64_t load_ns = 0;  ///< Loading the method, all `init` calls included.
  std::optional<std::uint64_t> init_ns;   ///< All `init` calls; only known when a trace is made.
  std::vector<std::uint64_t> execute_ns;  ///< One entry for each time that it was executed.
};

/// All that a run found out, up to where it ended.
struct Report {
  ExitCode code = ExitCode::success;
  Status failure;  ///< Ok when the run ended well, also when outputs differ.
  std::string program;
  std::string method;
  std::vector<PluginReport> plugins;
  std::vector<InputReport> inputs;
  std::vector<OutputReport> outputs;
  Timings timings;
};

/// Does what the command line asks for. Prints nothing, except what plugins log as errors.
[[nodiscard]] Report run(const Arguments& arguments);

}  // namespace tenon::run
