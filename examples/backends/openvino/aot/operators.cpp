// SPDX-License-Identifier: MIT
#include "aot/operators.hpp"

namespace openvino_backend {

const OperatorRow* find_operator(std::string_view target) noexcept {
  for (const auto& rows : {elementwise_operators(), comparison_operators(), linear_operators(),
                           make_operators(), move_operators(), recurrent_operators(),
                           reduction_operators(), shape_operators(), vision_operators()}) {
    for (const OperatorRow& row : rows) {
      if (row.target == target) return &row;
    }
  }
  return nullptr;
}

namespace {

/// Operators whose further results are for training; only the first is made.
constexpr std::string_view first_result_only[] = {
    "aten.native_layer_norm.default",
    "aten.native_group_norm.default",
    "aten._native_batch_norm_legit_no_training.default",
    "aten.max_pool2d_with_indices.default",
};

Status check_unused(const EdgeProgram& program, const EdgeNode& node) {
  bool is_first_only = false;
  for (const std::string_view target : first_result_only) {
    is_first_only = is_first_only || node.target() == target;
  }
  if (!is_first_only) return tenon::ok();
  const tenon::aot::EdgeUses uses(program);
  for (std::size_t i = 1; i < node.outputs().size(); ++i) {
    const auto id = node.outputs()[i];
    if (uses.is_output(id) || !uses.users(id).empty()) {
      return error(Error::NotSupported, "result ", i, " is used, and only result 0 is made");
    }
  }
  return tenon::ok();
}

bool is_floating(ScalarType dtype) noexcept {
  return dtype == ScalarType::Float || dtype == ScalarType::Half || dtype == ScalarType::BFloat16;
}

/// The element type of the result decides: arguments are converted to it.
Status check_elements(const EdgeProgram& program, const EdgeNode& node, Elements elements) {
  if (elements == Elements::Any) return tenon::ok();
  const EdgeValue result = program.value(node.outputs()[0]);
  const ScalarType dtype = result.scalar_type();
  if (is_floating(dtype)) return tenon::ok();
  const bool is_integer = dtype == ScalarType::Int || dtype == ScalarType::Long;
  if (elements == Elements::Numbers && is_integer) return tenon::ok();
  return error(Error::NotSupported, "value '", result.name(), "': expected dtype Float, Half",
               elements == Elements::Numbers ? ", BFloat16, Int or Long" : " or BFloat16",
               ", found ", name_of(dtype));
}

Status lower_known(IrBuilder& builder, const Call& call) {
  const EdgeProgram& program = call.program();
  const EdgeNode& node = call.node();
  const OperatorRow* row = find_operator(node.target());
  if (!row) return error(Error::NotSupported, "the operator is not among those it compiles");
  if (node.outputs().empty()) return error(Error::NotSupported, "it has no results");
  TENON_RETURN_IF_ERROR(check_unused(program, node));
  TENON_RETURN_IF_ERROR(check_elements(program, node, row->elements));
  builder.announce(node);
  return row->lower(call);
}

}  // namespace

Status lower(IrBuilder& builder, const EdgeNode& node) {
  const Call call(builder, node);
  return call.in_context(lower_known(builder, call));
}

}  // namespace openvino_backend
