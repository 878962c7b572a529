// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tenon/aot/compiler/pt2/limits.hpp"
#include "tenon/aot/owned_edge_program.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// One exported program of an archive.
struct Pt2Method {
  /// Name of the model in the archive; "forward" for "model", the name that torch.export.save
  /// gives to the only one.
  std::string name;
  /// Keeps the file mapped as long as weights of it are in use.
  OwnedEdgeProgram program;
  /// Inputs and outputs of the Python function that are not in the program because they carry no
  /// data, each in a phrase: constants that were inputs, and outputs that are None.
  std::vector<std::string> left_out;
};

/// All exported programs of an archive, sorted by the names that they have there.
struct Pt2Program {
  std::vector<Pt2Method> methods;
};

/// The part of an archive that is read.
enum class Pt2Content {
  Graph,  ///< All of it, for a compiler.
  /// The part that `make_aoti_program` uses: inputs and outputs, and an input that an operator
  /// changes in place as a mutation. Weights have no data. Any operator is a node, without the
  /// arguments and results that a graph for a compiler cannot have.
  Signature,
};

/// Reads what torch.export.save wrote (schema version 8, which PyTorch 2.15 writes), without
/// PyTorch. docs/aot/pt2.md lists what is supported. Differences to the archive:
///
/// * Each value has memory of its own, as ExecuTorch's programs have it. Views ("aten.permute") are
///   copies, so their outputs, and values that took the order of dimensions from them, are in the
///   plain order. An order that is asked for (channels last) or that inputs have stays.
/// * Parameters, buffers and constants are dense and in the plain order: in the mapped file when
///   they are so there, else in a copy.
/// * Ranges of sizes are computed from the ranges of their symbols.
/// * Operators that change what an operator of the graph made ("aten.relu_") are read as their
///   functions, where no other tensor that may share the memory is read later.
/// * Assertions ("aten._assert_scalar"), and nodes that only they read, are left out.
///
/// Weights that share memory in the archive share it here. Threads: any; the result may be read by
/// several.
///
/// errors: AccessFailed when the file cannot be read; InvalidProgram when it is damaged or
///         contradicts itself; NotSupported for unsupported constructs: control flow, other
///         operators that change their inputs, objects of Python, other versions; OutOfResources
///         for what is above `limits`. The text names the file, the entry, the place in its JSON,
///         and the node.
[[nodiscard]] Result<Pt2Program> read_pt2(const std::filesystem::path& path,
                                          const Pt2Limits& limits = {},
                                          Pt2Content content = Pt2Content::Graph);

/// Defined by <tenon/aot/compiler/pt2/implementation.hpp>, and so by the library tenon-pt2. A
/// linker that does not find it, or finds two, says with its name what to do.
void include_tenon_aot_compiler_pt2_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_pt2_implementation =
    &include_tenon_aot_compiler_pt2_implementation_hpp_in_exactly_one_source;
}  // namespace detail

}}}  // namespace tenon::TENON_RELEASE::aot
