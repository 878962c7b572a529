// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <tenon/aot/compile_spec_data.hpp>
#include <tenon/core/compile_specs.hpp>
#include <tenon/core/result.hpp>

namespace openvino_backend {

/// Options of the compilation. Specs for the run time (runtime/settings.hpp) are checked with them,
/// and stay in the program.
struct Options {
  bool is_external = false;  ///< Weights are in a `.ptd` file and not in the program.
  std::string external_tag = "openvino";
};

inline constexpr tenon::aot::CompileSpecRow option_rows[] = {
    {"weights", "named|external", "weights are stored in the program's named data or a .ptd file"},
    {"external_tag", "a file's name without .ptd", "which file, with weights=external"},
    {"device", "OpenVINO's name of a device", "where the delegate runs"},
    {"num_streams", "a number", "runs that the device works on at the same time"},
    {"inference_num_threads", "a number", "threads for one run"},
    {"performance_hint", "LATENCY|THROUGHPUT|CUMULATIVE_THROUGHPUT", "what OpenVINO optimizes"},
    {"inference_precision", "f32|bf16|f16|dynamic", "what the device computes with"},
};

/// Reads the options among compile specs.
///
/// errors: NotFound for an unknown key, InvalidArgument for a value that does not fit or a key that
///         is given twice
[[nodiscard]] tenon::Result<Options> read_options(const tenon::CompileSpecs& specs);

}  // namespace openvino_backend
