// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "layers.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/layers/arrays/compare_arrays.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tool.hpp"
#include "top.hpp"

namespace tenon::run {

/// A damaged file for an input is wrong usage, as is a file of expected outputs, results or a trace
/// that cannot be used; a damaged program is an invalid file, and so is an operator without a
/// kernel; code of the program that is not permitted is `no_backend`.
using tool::ExitCode;

struct PluginReport {
  std::string path;
  std::string name;
  std::string version;
  std::vector<std::string> backends;
  bool offers_kernels = false;
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
  std::string file;                          ///< Its path; empty when it was not written.
  std::string expected_file;                 ///< Empty when nothing was expected.
  std::optional<host::Comparison> comparison;
};

/// How long each stage took, in nanoseconds.
struct Timings {
  std::uint64_t open_ns = 0;  ///< Reading the program and its external data.
  /// Loading plugins and asking backends whether they are available.
  std::uint64_t backends_ns = 0;
  std::uint64_t load_ns = 0;              ///< Loading the method, all `init` calls included.
  std::optional<std::uint64_t> init_ns;   ///< All `init` calls; only known with a trace.
  std::vector<std::uint64_t> execute_ns;  ///< One entry for each execution.
};

/// The results of a run, up to its end.
struct Report {
  ExitCode code = ExitCode::success;
  Status failure;  ///< Ok when the run completed, also when outputs differ.
  std::string program;
  std::string method;
  std::string variant;  ///< Empty when the method has a single form.
  std::vector<PluginReport> plugins;
  std::vector<InputReport> inputs;
  std::vector<OutputReport> outputs;
  Timings timings;
  std::optional<LayersReport> layers;  ///< With --compare-layers.
  std::string plot;                    ///< The path of its picture; empty when it was not written.
  std::optional<host::MethodMemory> memory;  ///< After the runs, when it was asked for.
  std::vector<std::string> warnings;         ///< Arguments without effect.
};

/// Does what the command line asks for. Prints nothing, except what plugins log as errors.
[[nodiscard]] Report run(const Arguments& arguments);

}  // namespace tenon::run
