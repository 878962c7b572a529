// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <tenon/aot.hpp>

#include "aot/call.hpp"

namespace graph_backend {

/// One operator of PyTorch that the backend compiles.
struct OperatorRow {
  std::string_view target;  ///< "aten.add.Tensor"
  /// Makes nodes of the call, or says why it cannot.
  tenon::Status (*lower)(const Call& call);
  /// PyTorch would decompose it on the way to Core ATen; the backend has better use for the whole.
  bool keep = false;
  /// `lower` makes every result, not the first alone.
  bool makes_all = false;
};

[[nodiscard]] std::span<const OperatorRow> elementwise_operators() noexcept;
[[nodiscard]] std::span<const OperatorRow> linear_operators() noexcept;
[[nodiscard]] std::span<const OperatorRow> shape_operators() noexcept;
[[nodiscard]] std::span<const OperatorRow> view_operators() noexcept;
[[nodiscard]] std::span<const OperatorRow> vision_operators() noexcept;
[[nodiscard]] std::span<const OperatorRow> reduction_operators() noexcept;

/// All of them, group by group.
[[nodiscard]] inline std::array<std::span<const OperatorRow>, 6> all_operators() noexcept {
  return {elementwise_operators(), linear_operators(), shape_operators(),
          view_operators(),        vision_operators(), reduction_operators()};
}

/// The row of `target`, or null.
[[nodiscard]] const OperatorRow* find_operator(std::string_view target) noexcept;

/// True for a node that computes sizes alone ("aten.sym_size.int"). No code is made of it: sizes
/// follow from the sizes of the inputs.
[[nodiscard]] bool only_computes_sizes(const tenon::aot::EdgeProgram& program,
                                       const tenon::aot::EdgeNode& node) noexcept;

/// Makes nodes of one node of the program.
///
/// errors: NotSupported, with the node's name and operator, when the backend cannot compute it
[[nodiscard]] tenon::Status lower(GraphBuilder& builder, const tenon::aot::EdgeNode& node);

}  // namespace graph_backend
