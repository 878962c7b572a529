// SPDX-License-Identifier: MIT
//
// Operators that compute element by element.
#include <limits>
#include <string>

#include "aot/operators.hpp"

namespace openvino_backend {

namespace {

template <const Operation& operation>
Status unary(const Call& call) {
  TENON_TRY(const Output x, call.operand("self", call.dtype()));
  return call.make({.type = operation.type, .opset = operation.opset, .inputs = {x}});
}

constexpr Operation sqrt_operation{"Sqrt"};
constexpr Operation exp_operation{"Exp"};
constexpr Operation log_operation{"Log"};
constexpr Operation erf_operation{"Erf"};
constexpr Operation sin_operation{"Sin"};
constexpr Operation cos_operation{"Cos"};
constexpr Operation abs_operation{"Abs"};
constexpr Operation neg_operation{"Negative"};
constexpr Operation floor_operation{"Floor"};
constexpr Operation ceil_operation{"Ceiling"};
constexpr Operation relu_operation{"Relu"};
constexpr Operation sigmoid_operation{"Sigmoid"};
constexpr Operation tanh_operation{"Tanh"};
constexpr Operation silu_operation{"Swish", "opset4"};
constexpr Operation hardswish_operation{"HSwish", "opset4"};
constexpr Operation hardsigmoid_operation{"HSigmoid", "opset5"};
constexpr Operation mish_operation{"Mish", "opset4"};

/// A power of one number.
Status power_of(const Call& call, double exponent) {
  TENON_TRY(const Output x, call.operand("self", call.dtype()));
  const Output power = call.builder().scalar(exponent, call.dtype());
  return call.make({.type = "Power", .inputs = {x, power}});
}
Status rsqrt(const Call& call) { return power_of(call, -0.5); }
Status reciprocal(const Call& call) { return power_of(call, -1); }

Status gelu(const Call& call) {
  TENON_TRY(const auto mode, call.text("approximate", "none"));
  if (mode != "none" && mode != "tanh") {
    return call.refuse_argument("approximate", "none or tanh");
  }
  TENON_TRY(const Output x, call.tensor("self"));
  return call.make({.type = "Gelu",
                    .opset = "opset7",
                    .inputs = {x},
                    .attributes = {{"approximation_mode", mode == "none" ? "ERF" : "TANH"}}});
}

Status elu(const Call& call) {
  TENON_TRY(const double alpha, call.number("alpha", 1));
  TENON_TRY(const double scale, call.number("scale", 1));
  TENON_TRY(const double input_scale, call.number("input_scale", 1));
  if (scale != 1 || input_scale != 1) {
    return error(Error::NotSupported, "arguments 'scale' and 'input_scale': expected 1, found ",
                 scale, " and ", input_scale);
  }
  TENON_TRY(const Output x, call.tensor("self"));
  return call.make({.type = "Elu", .inputs = {x}, .attributes = {{"alpha", number_text(alpha)}}});
}

Status leaky_relu(const Call& call) {
  TENON_TRY(const double slope, call.number("negative_slope", 0.01));
  TENON_TRY(const Output x, call.tensor("self"));
  const Output slopes = call.builder().scalar(slope, call.dtype());
  // PRelu reads at least one slope with a dimension.
  const Output list = call.builder().add({.type = "Unsqueeze",
                                          .inputs = {slopes, call.builder().integers({0})},
                                          .dtype = call.dtype()});
  return call.make({.type = "PRelu", .inputs = {x, list}});
}

Status clamp_to(const Call& call, double low, double high) {
  if (!(low <= high)) {
    return error(Error::NotSupported, "expected a lower bound below the upper one, found ", low,
                 " and ", high);
  }
  TENON_TRY(const Output x, call.operand("self", call.dtype()));
  return call.make({.type = "Clamp",
                    .inputs = {x},
                    .attributes = {{"min", number_text(low)}, {"max", number_text(high)}}});
}

Status clamp(const Call& call) {
  constexpr double limit = std::numeric_limits<float>::max();
  TENON_TRY(const double low, call.number("min", -limit));
  TENON_TRY(const double high, call.number("max", limit));
  // A clamp at the largest float would change infinities.
  if (!call.has("min") || !call.has("max")) {
    const bool has_low = call.has("min");
    TENON_TRY(const Output x, call.operand("self", call.dtype()));
    const Output bound = call.builder().scalar(has_low ? low : high, call.dtype());
    return call.make({.type = has_low ? "Maximum" : "Minimum", .inputs = {x, bound}});
  }
  return clamp_to(call, low, high);
}

Status hardtanh(const Call& call) {
  TENON_TRY(const double low, call.number("min_val", -1));
  TENON_TRY(const double high, call.number("max_val", 1));
  return clamp_to(call, low, high);
}

Status relu6(const Call& call) { return clamp_to(call, 0, 6); }

template <const Operation& operation>
Status binary(const Call& call) {
  TENON_TRY(const Output a, call.operand("self", call.dtype()));
  TENON_TRY(const Output b, call.operand("other", call.dtype()));
  return call.make({.type = operation.type, .opset = operation.opset, .inputs = {a, b}});
}

constexpr Operation multiply_operation{"Multiply"};
constexpr Operation divide_operation{"Divide"};
constexpr Operation maximum_operation{"Maximum"};
constexpr Operation minimum_operation{"Minimum"};
constexpr Operation add_operation{"Add"};
constexpr Operation subtract_operation{"Subtract"};

/// self + alpha * other, or the difference.
template <const Operation& operation>
Status sum(const Call& call) {
  TENON_TRY(const double alpha, call.number("alpha", 1));
  TENON_TRY(const Output a, call.operand("self", call.dtype()));
  TENON_TRY(Output b, call.operand("other", call.dtype()));
  if (alpha != 1) {
    const Output factor = call.builder().scalar(alpha, call.dtype());
    b = call.builder().add({.type = "Multiply", .inputs = {b, factor}, .dtype = call.dtype()});
  }
  return call.make({.type = operation.type, .opset = operation.opset, .inputs = {a, b}});
}

Status rsub(const Call& call) {
  TENON_TRY(const double alpha, call.number("alpha", 1));
  if (alpha != 1) return call.refuse_argument("alpha", "1");
  TENON_TRY(const Output a, call.operand("self", call.dtype()));
  TENON_TRY(const Output b, call.operand("other", call.dtype()));
  return call.make({.type = "Subtract", .inputs = {b, a}});
}

Status pow(const Call& call) {
  TENON_TRY(const Output a, call.operand("self", call.dtype()));
  TENON_TRY(const Output b, call.operand("exponent", call.dtype()));
  return call.make({.type = "Power", .inputs = {a, b}});
}

constexpr OperatorRow elementwise_rows[] = {
    {"aten.add.Tensor", &sum<add_operation>, Elements::Numbers},
    {"aten.add.Scalar", &sum<add_operation>, Elements::Numbers},
    {"aten.sub.Tensor", &sum<subtract_operation>, Elements::Numbers},
    {"aten.sub.Scalar", &sum<subtract_operation>, Elements::Numbers},
    {"aten.rsub.Scalar", &rsub, Elements::Numbers},
    {"aten.mul.Tensor", &binary<multiply_operation>, Elements::Numbers},
    {"aten.mul.Scalar", &binary<multiply_operation>, Elements::Numbers},
    // `div` of integers gives floats, `call.dtype()` above.
    {"aten.div.Tensor", &binary<divide_operation>, Elements::Floats},
    {"aten.div.Scalar", &binary<divide_operation>, Elements::Floats},
    {"aten.maximum.default", &binary<maximum_operation>, Elements::Numbers},
    {"aten.minimum.default", &binary<minimum_operation>, Elements::Numbers},
    {"aten.pow.Tensor_Scalar", &pow, Elements::Floats},
    {"aten.pow.Tensor_Tensor", &pow, Elements::Floats},
    {"aten.abs.default", &unary<abs_operation>, Elements::Numbers},
    {"aten.neg.default", &unary<neg_operation>, Elements::Numbers},
    {"aten.exp.default", &unary<exp_operation>, Elements::Floats},
    {"aten.log.default", &unary<log_operation>, Elements::Floats},
    {"aten.erf.default", &unary<erf_operation>, Elements::Floats},
    {"aten.sin.default", &unary<sin_operation>, Elements::Floats},
    {"aten.cos.default", &unary<cos_operation>, Elements::Floats},
    {"aten.sqrt.default", &unary<sqrt_operation>, Elements::Floats},
    {"aten.rsqrt.default", &rsqrt, Elements::Floats},
    {"aten.reciprocal.default", &reciprocal, Elements::Floats},
    {"aten.floor.default", &unary<floor_operation>, Elements::Floats},
    {"aten.ceil.default", &unary<ceil_operation>, Elements::Floats},
    {"aten.relu.default", &unary<relu_operation>, Elements::Floats},
    {"aten.relu6.default", &relu6, Elements::Floats, Reads::Elements, true},
    {"aten.leaky_relu.default", &leaky_relu, Elements::Floats},
    {"aten.elu.default", &elu, Elements::Floats},
    {"aten.sigmoid.default", &unary<sigmoid_operation>, Elements::Floats},
    {"aten.tanh.default", &unary<tanh_operation>, Elements::Floats},
    {"aten.gelu.default", &gelu, Elements::Floats},
    {"aten.silu.default", &unary<silu_operation>, Elements::Floats, Reads::Elements, true},
    {"aten.mish.default", &unary<mish_operation>, Elements::Floats, Reads::Elements, true},
    {"aten.hardswish.default", &unary<hardswish_operation>, Elements::Floats, Reads::Elements,
     true},
    {"aten.hardsigmoid.default", &unary<hardsigmoid_operation>, Elements::Floats, Reads::Elements,
     true},
    {"aten.hardtanh.default", &hardtanh, Elements::Floats},
    {"aten.clamp.default", &clamp, Elements::Numbers},
};

}  // namespace

std::span<const OperatorRow> elementwise_operators() noexcept { return elementwise_rows; }

}  // namespace openvino_backend
