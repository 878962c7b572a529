// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "tenon/aot/compiler/lower/operator_schemas.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// The namespace of operators that copy to another order of dimensions.
inline constexpr std::string_view dim_order_operators = "dim_order_ops.";

/// Whether the first tensor of a node and its only output are in different orders of dimensions.
inline bool changes_dim_order(const EdgeProgram& program, const EdgeNode& node) {
  const auto self = node.find("self");
  if (!self || !self->value() || node.outputs().size() != 1) return false;
  const EdgeValue from = program.value(*self->value());
  const EdgeValue to = program.value(node.outputs()[0]);
  return from.is_tensor() && to.is_tensor() &&
         !std::ranges::equal(from.dim_order(), to.dim_order());
}

/// The operator whose kernel runs a node: the node's own, but for two cases.
///
/// - Kernels that copy keep the order of dimensions. A copy that changes it needs other kernels,
///   which take the order as an argument (ExecuTorch: MemoryFormatOpsPass).
/// - PyTorch calls x + 1 by the operator for two tensors. Kernels that take a number compute with
///   it whatever the tensor's type and order are; a tensor made of the number would have its own.
inline std::string choose_kernel(const EdgeProgram& program, const EdgeNode& node,
                                 const OperatorSchemas& operators) {
  std::string target(node.target());
  if (target == "aten.clone.default" && changes_dim_order(program, node)) {
    return "dim_order_ops._clone_dim_order.default";
  }
  if (target == "aten._to_copy.default" && changes_dim_order(program, node)) {
    return "dim_order_ops._to_dim_order_copy.default";
  }
  const auto other = node.find("other");
  if (target.ends_with(".Tensor") && other && other->number()) {
    std::string scalar = concat(target.substr(0, target.rfind('.')), ".Scalar");
    if (operators.contains(scalar)) return scalar;
  }
  return target;
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
