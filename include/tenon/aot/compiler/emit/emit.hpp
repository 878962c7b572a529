// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/aot/compiler/emit/method_memory.hpp"
#include "tenon/aot/compiler/lower/lowered_program.hpp"
#include "tenon/aot/compiler/lower/operator_schemas.hpp"
#include "tenon/aot/preprocess_result.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aot {

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
};

/// Turns lowered programs into the description of one `.pte` file: values with their bounds,
/// constants, delegates, instructions and planned memory (ExecuTorch: exir/emit). Methods are in
/// the order of their names, and equal programs give equal descriptions. Bytes of the programs are
/// not copied: the owners of the programs must outlive what is returned.
///
/// - All tensors of the method are in memory of the CPU. A size that changes is given its bound.
/// - A buffer that a call changes begins with the content that it had at export; its new content is
///   copied into it at the end of the call, and so are those of inputs. Each method has its own.
/// - An output may be an input, a constant, or be given twice.
///
/// errors: NotSupported: an operator without kernel or an argument that a kernel does not take, a
///         size without bound, an input that is a number, a scalar type that files cannot hold;
///         InvalidArgument: no method, two of one name, not one result for each partition, data
///         that is missing or of another length, named data that contradicts itself. The text names
///         the method, and the node or value.
[[nodiscard]] TENON_API Result<ProgramData> emit(const std::vector<CompiledMethod>& methods,
                                                 const EmitOptions& options = {});

}  // namespace tenon::aot

#if TENON_COMPILER_DEFINITIONS

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "tenon/aot/compiler/emit/emit_method.hpp"
#include "tenon/aot/named_data_store.hpp"

namespace tenon::aot {

TENON_API Result<ProgramData> emit(const std::vector<CompiledMethod>& methods,
                                   const EmitOptions& options) {
  if (methods.empty()) return error(Error::InvalidArgument, "a program needs a method");
  std::vector<const CompiledMethod*> order;
  for (const CompiledMethod& method : methods) order.push_back(&method);
  const auto name_of = [](const CompiledMethod* method) {
    return method->program.program.method_name();
  };
  std::ranges::stable_sort(order, {}, name_of);

  ProgramData program;
  NamedDataStore named_data;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const CompiledMethod& method = *order[i];
    const std::string_view name = name_of(order[i]);
    const auto in_method = [&](const Status& status) {
      return error(status.error(), "method '", name, "': ", status.text());
    };
    if (i > 0 && name_of(order[i - 1]) == name) {
      return error(Error::InvalidArgument, "two methods have the name '", name, "'");
    }
    if (method.results.size() != method.program.partitions.size()) {
      return error(Error::InvalidArgument, "method '", name, "' has ",
                   method.program.partitions.size(), " partitions but ", method.results.size(),
                   " results");
    }
    for (const PreprocessResult& result : method.results) {
      Status merged = named_data.merge_named_data_store(result.data_store_output);
      if (!merged.ok()) return in_method(merged);
    }
    auto emitted =
        detail::MethodEmitter(method.program, method.results, options.operators,
                              options.external_constants ? &*options.external_constants : nullptr,
                              program, named_data)
            .emit();
    if (!emitted.ok()) return in_method(std::move(emitted).status());
    Status planned = plan_method_memory(*emitted, options.memory);
    if (!planned.ok()) return in_method(planned);
    program.methods.push_back(*std::move(emitted));
  }
  program.named_data = named_data.get_named_data_store_output();
  return program;
}

}  // namespace tenon::aot

#endif  // TENON_COMPILER_DEFINITIONS
