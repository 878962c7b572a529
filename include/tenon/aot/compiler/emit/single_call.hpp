// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenon/aot/compile_spec_data.hpp"
#include "tenon/aot/compiler/link/needs_implementation.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/aot/shared_bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// A method that is one call of one delegate: what a program is made of where a blob exists.
struct SingleCall {
  std::string backend;  ///< Its id.
  std::string method = "forward";
  SharedBytes blob;
  std::vector<TensorValue> inputs;  ///< As `parse_tensor` returns them.
  std::vector<TensorValue> outputs;
  std::vector<CompileSpecData> specs;
  /// Keys and bytes of named data, which is stored in the program.
  std::vector<std::pair<std::string, SharedBytes>> data;
};

/// Describes the program: its delegate gets the inputs, then the outputs. The method owns the
/// memory of those that are `storage::Planned`. Bytes are shared, not copied.
///
/// errors: InvalidArgument: no blob, no output, a name that no file can hold, two data of one key.
[[nodiscard]] Result<ProgramData> make_program(const SingleCall& call);

}}}  // namespace tenon::TENON_RELEASE::aot
