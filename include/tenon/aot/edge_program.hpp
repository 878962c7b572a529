// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tenon/abi/draft/edge_program.h"
#include "tenon/aot/edge_argument.hpp"
#include "tenon/aot/edge_value.hpp"
#include "tenon/core/struct_size.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// One call of an operator. Refers to the program and costs one pointer.
class EdgeNode {
 public:
  explicit EdgeNode(const tenon_edge_node& node) noexcept : node_(&node) {}

  [[nodiscard]] std::string_view name() const noexcept { return node_->name; }
  /// The operator with its overload, as PyTorch says it: "aten.add.Tensor", "aten.relu.default".
  [[nodiscard]] std::string_view target() const noexcept { return node_->target; }
  /// The module that called it; empty when unknown.
  [[nodiscard]] std::string_view module_path() const noexcept {
    return node_->module_path ? std::string_view(node_->module_path) : std::string_view();
  }
  [[nodiscard]] std::uint32_t debug_handle() const noexcept { return node_->debug_handle; }

  [[nodiscard]] std::size_t num_arguments() const noexcept { return node_->num_arguments; }
  [[nodiscard]] EdgeArgument argument(std::size_t index) const noexcept {
    return EdgeArgument(tenon::detail::StridedArray<tenon_edge_argument>(
        node_->arguments, node_->num_arguments)[index]);
  }
  /// The argument for the schema's parameter `name`. Nothing when it was left out, which means the
  /// default that the operator's schema states.
  [[nodiscard]] std::optional<EdgeArgument> find(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < num_arguments(); ++i) {
      if (argument(i).name() == name) return argument(i);
    }
    return std::nullopt;
  }
  [[nodiscard]] std::span<const ValueId> outputs() const noexcept {
    return {node_->outputs, node_->num_outputs};
  }

  /// Calls `visit(ValueId)` for each value that the node reads, twice for a value that it reads
  /// twice.
  template <class Visit>
  void for_each_input(Visit&& visit) const {
    for (std::size_t i = 0; i < num_arguments(); ++i) argument(i).for_each_value(visit);
  }

  [[nodiscard]] const tenon_edge_node& raw() const noexcept { return *node_; }

 private:
  const tenon_edge_node* node_;
};

/// The kind of an output of a method, with the names of torch.export's OutputKind.
enum class EdgeOutputKind : std::uint32_t {
  UserOutput = TENON_EDGE_USER_OUTPUT,
  BufferMutation = TENON_EDGE_BUFFER_MUTATION,
  UserInputMutation = TENON_EDGE_USER_INPUT_MUTATION,
};

/// One output of a method.
struct EdgeOutput {
  EdgeOutputKind kind = EdgeOutputKind::UserOutput;
  ValueId value = no_value;
  ValueId target = no_value;  ///< What gets the new content, of a mutation.
};

/// A method as PyTorch exported it, or the part of a method that a backend is to compile:
/// read-only, and nothing that a backend does can change it (in ExecuTorch `preprocess` gets a deep
/// copy for that). Refers to what its owner keeps: an `OwnedEdgeProgram`, or the tool on the other
/// side of the boundary. Copies refer to the same program. Reading from several threads is safe.
class EdgeProgram {
 public:
  explicit EdgeProgram(const tenon_edge_program& program) noexcept : program_(&program) {}

  [[nodiscard]] std::string_view method_name() const noexcept { return program_->method_name; }

  [[nodiscard]] std::size_t num_values() const noexcept { return program_->num_values; }
  [[nodiscard]] EdgeValue value(ValueId id) const noexcept {
    return EdgeValue(
        tenon::detail::StridedArray<tenon_edge_value>(program_->values, program_->num_values)[id]);
  }
  [[nodiscard]] std::size_t num_nodes() const noexcept { return program_->num_nodes; }
  /// Nodes are in the order in which they run.
  [[nodiscard]] EdgeNode node(std::size_t index) const noexcept {
    return EdgeNode(
        tenon::detail::StridedArray<tenon_edge_node>(program_->nodes, program_->num_nodes)[index]);
  }
  /// User inputs in the order of the call.
  [[nodiscard]] std::span<const ValueId> inputs() const noexcept {
    return {program_->inputs, program_->num_inputs};
  }
  [[nodiscard]] std::size_t num_outputs() const noexcept { return program_->num_outputs; }
  [[nodiscard]] EdgeOutput output(std::size_t index) const noexcept {
    const tenon_edge_output& output = tenon::detail::StridedArray<tenon_edge_output>(
        program_->outputs, program_->num_outputs)[index];
    return {static_cast<EdgeOutputKind>(output.kind), output.value, output.target};
  }

  /// The value of that name. Looks at all of them: for tests and tools.
  [[nodiscard]] std::optional<ValueId> find_value(std::string_view name) const noexcept {
    for (ValueId id = 0; id < num_values(); ++id) {
      if (value(id).name() == name) return id;
    }
    return std::nullopt;
  }

  [[nodiscard]] const tenon_edge_program& raw() const noexcept { return *program_; }

 private:
  const tenon_edge_program* program_;
};

}}}  // namespace tenon::TENON_RELEASE::aot
