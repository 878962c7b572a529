// SPDX-License-Identifier: MIT
//
// Comparisons, logic, and what depends on them.
#include <cmath>

#include "aot/operators.hpp"

namespace openvino_backend {

namespace {

/// The type in which PyTorch compares the argument `self` with the argument `other`: the tensors'
/// type, which must be one; a number has to be exact in it.
Result<ScalarType> compared_type(const Call& call) {
  TENON_TRY(const auto self, call.described("self"));
  const auto other = call.node().find("other");
  const auto number = other ? other->number() : std::nullopt;
  const bool is_integral =
      self.scalar_type() == ScalarType::Long || self.scalar_type() == ScalarType::Int;
  if (number) {
    if (is_integral && *number != std::trunc(*number)) {
      return error(Error::NotSupported, "integers are compared with ", *number);
    }
    if (self.scalar_type() == ScalarType::Bool) return call.refuse_argument("self", "numbers");
    return self.scalar_type();
  }
  if (other && other->value() && call.program().value(*other->value()).is_tensor() &&
      call.program().value(*other->value()).scalar_type() != self.scalar_type()) {
    return error(Error::NotSupported, "a tensor of dtype ", name_of(self.scalar_type()),
                 " is compared with dtype ",
                 name_of(call.program().value(*other->value()).scalar_type()));
  }
  return self.scalar_type();
}

template <const Operation& operation>
Status compare(const Call& call) {
  TENON_TRY(const ScalarType dtype, compared_type(call));
  TENON_TRY(const Output a, call.operand("self", dtype));
  TENON_TRY(const Output b, call.operand("other", dtype));
  return call.make({.type = operation.type, .opset = operation.opset, .inputs = {a, b}});
}

template <const Operation& operation>
Status logic(const Call& call) {
  TENON_TRY(const Output a, call.operand("self", ScalarType::Bool));
  TENON_TRY(const Output b, call.operand("other", ScalarType::Bool));
  return call.make({.type = operation.type, .opset = operation.opset, .inputs = {a, b}});
}

constexpr Operation equal_operation{"Equal"};
constexpr Operation not_equal_operation{"NotEqual"};
constexpr Operation less_operation{"Less"};
constexpr Operation less_equal_operation{"LessEqual"};
constexpr Operation greater_operation{"Greater"};
constexpr Operation greater_equal_operation{"GreaterEqual"};
constexpr Operation and_operation{"LogicalAnd"};
constexpr Operation or_operation{"LogicalOr"};
constexpr Operation xor_operation{"LogicalXor"};

Status logical_not(const Call& call) {
  TENON_TRY(const Output x, call.operand("self", ScalarType::Bool));
  return call.make({.type = "LogicalNot", .inputs = {x}});
}

Status where(const Call& call) {
  TENON_TRY(const Output condition, call.operand("condition", ScalarType::Bool));
  TENON_TRY(const Output a, call.operand("self", call.dtype()));
  TENON_TRY(const Output b, call.operand("other", call.dtype()));
  return call.make({.type = "Select", .inputs = {condition, a, b}});
}

Status masked_fill(const Call& call) {
  TENON_TRY(const Output mask, call.operand("mask", ScalarType::Bool));
  TENON_TRY(const Output value, call.operand("value", call.dtype()));
  TENON_TRY(const Output x, call.operand("self", call.dtype()));
  return call.make({.type = "Select", .inputs = {mask, value, x}});
}

constexpr OperatorRow comparison_rows[] = {
    {"aten.eq.Scalar", &compare<equal_operation>},
    {"aten.eq.Tensor", &compare<equal_operation>},
    {"aten.ne.Scalar", &compare<not_equal_operation>},
    {"aten.ne.Tensor", &compare<not_equal_operation>},
    {"aten.lt.Scalar", &compare<less_operation>},
    {"aten.lt.Tensor", &compare<less_operation>},
    {"aten.le.Scalar", &compare<less_equal_operation>},
    {"aten.le.Tensor", &compare<less_equal_operation>},
    {"aten.gt.Scalar", &compare<greater_operation>},
    {"aten.gt.Tensor", &compare<greater_operation>},
    {"aten.ge.Scalar", &compare<greater_equal_operation>},
    {"aten.ge.Tensor", &compare<greater_equal_operation>},
    {"aten.logical_and.default", &logic<and_operation>},
    {"aten.logical_or.default", &logic<or_operation>},
    {"aten.logical_xor.default", &logic<xor_operation>},
    {"aten.logical_not.default", &logical_not},
    {"aten.where.self", &where},
    {"aten.masked_fill.Scalar", &masked_fill},
};

}  // namespace

std::span<const OperatorRow> comparison_operators() noexcept { return comparison_rows; }

}  // namespace openvino_backend
