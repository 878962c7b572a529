// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/aot/compiler/emit/method_memory.hpp"
#include "tenon/aot/compiler/link/needs_implementation.hpp"
#include "tenon/aot/compiler/lower/lowered_program.hpp"
#include "tenon/aot/compiler/lower/operator_schemas.hpp"
#include "tenon/aot/preprocess_result.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// A method whose partitions were compiled.
struct CompiledMethod {
  LoweredProgram program;
  /// The result of `preprocess` for each partition, in the order of `program.partitions`.
  std::vector<PreprocessResult> results;
};

struct EmitOptions {
  /// Kernels for the nodes that no partition took.
  OperatorSchemas operators = OperatorSchemas::portable();
  MethodMemoryOptions memory = {};
  /// Parameters, constants and unchanged buffers of the method, by their fully-qualified names, are
  /// stored in the file of this name + ".ptd" instead of in the program (ExecuTorch:
  /// `external_constants`). The backend of a partition decides about the data that it keeps.
  std::optional<std::string> external_constants = std::nullopt;
  /// Stores names and debug handles of nodes, and the debug handle maps of the backends, as named
  /// data of the program, so that a host can say which layer an intermediate result is of
  /// (`Method::intermediates`). ExecuTorch keeps them in a file of its own, the ETRecord.
  bool debug_handles = false;
};

/// Turns lowered programs into the description of one `.pte` file: values with their bounds,
/// constants, delegates, instructions and planned memory (ExecuTorch: exir/emit). Methods are in
/// the order of their names, and equal programs give equal descriptions. Bytes of the programs are
/// not copied: the owners of the programs must outlive what is returned.
///
/// - All tensors of the method are in memory of the CPU. A size that changes is given its bound.
/// - A buffer that a call changes begins with the content that it had at export; its new content is
///   copied into it at the end of the call. So is the new content of an input. Each method has its
///   own.
/// - An output may be an input, a constant, or be given twice.
///
/// errors: NotSupported: an operator without kernel or an argument that a kernel does not take, a
///         size without bound, an input that is a number, a scalar type that files cannot hold;
///         InvalidArgument: no method, two of one name, not one result for each partition, data
///         that is missing or of another length, named data that contradicts itself. The text names
///         the method, and the node or value.
[[nodiscard]] Result<ProgramData> emit(const std::vector<CompiledMethod>& methods,
                                       const EmitOptions& options = {});

}}}  // namespace tenon::TENON_RELEASE::aot
