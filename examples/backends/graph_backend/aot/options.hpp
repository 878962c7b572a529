// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <tenon/aot/compile_spec_data.hpp>
#include <tenon/core/compile_specs.hpp>
#include <tenon/core/result.hpp>

namespace graph_backend {

/// The place of constants.
enum class Weights {
  Inline,    ///< Into the blob.
  Named,     ///< Into the program's named data: equal ones of several partitions are stored once.
  External,  ///< In a `.ptd` file next to the program.
};

/// Options of the compilation.
struct Options {
  Weights weights = Weights::Inline;
  std::string external_tag = "graph_backend";
  bool fold = true;
  std::uint64_t max_scratch_bytes = std::numeric_limits<std::uint64_t>::max();
};

inline constexpr tenon::aot::CompileSpecRow option_rows[] = {
    {"weights", "inline|named|external",
     "constants are stored in the blob, the program's named data, or a .ptd file"},
    {"external_tag", "a file's name without .ptd", "which file, with weights=external"},
    {"fold", "0|1",
     "compute ahead of time what depends on constants alone, and merge batch norms into "
     "convolutions"},
    {"max_scratch_bytes", "a number",
     "refuse to compile what needs more memory for its intermediate results"},
};

/// Reads the options among compile specs.
///
/// errors: NotFound for an unknown key, InvalidArgument for a value that does not fit or a key that
///         is given twice
[[nodiscard]] tenon::Result<Options> read_options(const tenon::CompileSpecs& specs);

}  // namespace graph_backend
