// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <tenon/aot.hpp>
#include <tenon/core/compile_specs.hpp>
#include <tenon/core/result.hpp>
#include <vector>

namespace openvino_backend {

/// The ahead-of-time half: what TenonOpenvino does when a program is compiled. OpenVINO itself is
/// not needed for it. Nothing is kept from one call to the next; any thread.

/// Compiles all nodes of `program` to OpenVINO IR, with the weights as named data
/// (common/blob.hpp).
///
/// errors: NotFound and InvalidArgument for options, NotSupported for what the backend cannot
///         compile, InvalidProgram for data that does not fit its type
[[nodiscard]] tenon::Result<tenon::aot::PreprocessResult> preprocess(
    const tenon::aot::EdgeProgram& program, const tenon::CompileSpecs& specs);

/// Chooses all nodes that the backend can compile. `specs` are the options of `preprocess`, which
/// gets them with each partition.
///
/// errors: NotFound and InvalidArgument for options
[[nodiscard]] tenon::Result<tenon::aot::PartitionResult> partition(
    const tenon::aot::EdgeProgram& program, const tenon::CompileSpecs& specs);

/// Success when the backend can compile `node`, whatever its neighbours are; else the reason.
[[nodiscard]] tenon::Status supports(const tenon::aot::EdgeProgram& program,
                                     const tenon::aot::EdgeNode& node);

/// The operators of `program` that an exporter should leave whole.
[[nodiscard]] std::vector<std::string> ops_to_not_decompose(const tenon::aot::EdgeProgram& program);

}  // namespace openvino_backend
