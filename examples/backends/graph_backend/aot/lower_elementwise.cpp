// SPDX-License-Identifier: MIT
//
// Operators that look at one element of each input at a time.
#include <limits>

#include "aot/operators.hpp"

namespace graph_backend {

using tenon::Error;
using tenon::Result;
using tenon::Status;

namespace {

template <blob::BinaryKind kind>
Status binary(const Call& call) {
  blob::BinaryT op;
  op.kind = kind;
  if constexpr (kind == blob::BinaryKind::Add || kind == blob::BinaryKind::Sub) {
    TENON_TRY(const double alpha, call.number("alpha", 1));
    op.alpha = static_cast<float>(alpha);
  }
  // As in PyTorch (BinaryOpsKernel.cpp), products and quotients take a number as it is.
  const bool is_exact = kind == blob::BinaryKind::Mul || kind == blob::BinaryKind::Div;
  const auto how = is_exact ? Call::Number::Exact : Call::Number::Rounded;
  TENON_TRY(const TensorId a, call.tensor_or_scalar("self", how));  // `1 - x` has it first.
  TENON_TRY(const TensorId b, call.tensor_or_scalar("other", how));
  return call.make(make_operator(op), {a, b});
}

/// other - alpha * self
Status rsub(const Call& call) {
  blob::BinaryT op;
  op.kind = blob::BinaryKind::Sub;
  TENON_TRY(const double alpha, call.number("alpha", 1));
  op.alpha = static_cast<float>(alpha);
  TENON_TRY(const TensorId a, call.tensor("self"));
  TENON_TRY(const TensorId b, call.tensor_or_scalar("other"));
  return call.make(make_operator(op), {b, a});
}

Status unary(const Call& call, const blob::UnaryT& op) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  return call.make(make_operator(op), {x});
}

template <blob::UnaryKind kind>
Status unary_of_kind(const Call& call) {
  blob::UnaryT op;
  op.kind = kind;
  return unary(call, op);
}

Status gelu(const Call& call) {
  blob::UnaryT op;
  op.kind = blob::UnaryKind::Gelu;
  TENON_TRY(const auto approximate, call.text("approximate", "none"));
  if (approximate == "tanh") {
    op.kind = blob::UnaryKind::GeluTanh;
  } else if (approximate != "none") {
    return call.refuse_argument("approximate", "none or tanh");
  }
  return unary(call, op);
}

/// `lowest` and `highest` are the names of the arguments and what they are when left out.
Status clamp_between(const Call& call, std::string_view lowest, double min,
                     std::string_view highest, double max) {
  TENON_TRY(min, call.number(lowest, min));
  TENON_TRY(max, call.number(highest, max));
  blob::UnaryT op;
  op.kind = blob::UnaryKind::Clamp;
  op.min = static_cast<float>(min);
  op.max = static_cast<float>(max);
  return unary(call, op);
}

Status clamp(const Call& call) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return clamp_between(call, "min", -infinity, "max", infinity);
}

Status hardtanh(const Call& call) { return clamp_between(call, "min_val", -1, "max_val", 1); }

Status relu6(const Call& call) { return clamp_between(call, "", 0, "", 6); }

template <blob::CompareKind kind>
Status compare(const Call& call) {
  blob::CompareT op;
  op.kind = kind;
  TENON_TRY(const TensorId a, call.tensor("self"));
  TENON_TRY(const TensorId b, call.tensor_or_scalar("other"));
  return call.make(make_operator(op), {a, b});
}

Status where(const Call& call) {
  TENON_TRY(const TensorId condition, call.tensor("condition"));
  TENON_TRY(const TensorId a, call.tensor("self"));
  TENON_TRY(const TensorId b, call.tensor("other"));
  return call.make(make_operator(blob::WhereT()), {condition, a, b});
}

Result<TensorId> combine(const Call& call, blob::BinaryKind kind, TensorId a, TensorId b) {
  blob::BinaryT op;
  op.kind = kind;
  return call.add(make_operator(op), {a, b});
}

/// 1 / self
Status reciprocal(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  TENON_TRY(const TensorId out, combine(call, blob::BinaryKind::Div, call.builder().scalar(1), x));
  return call.finish(out);
}

/// self ** exponent. As in PyTorch, some exponents are a product or a root, which also decides what
/// becomes of special values.
Status pow(const Call& call) {
  const auto exponent = call.node().find("exponent");
  const bool is_number = exponent && exponent->number();
  const double number = is_number ? *exponent->number() : std::numeric_limits<double>::quiet_NaN();
  if (number == 0.5) return unary_of_kind<blob::UnaryKind::Sqrt>(call);
  if (number == -0.5) return unary_of_kind<blob::UnaryKind::Rsqrt>(call);
  if (number == -1.0) return reciprocal(call);
  TENON_TRY(const TensorId x, call.tensor("self"));
  if (number == 2.0 || number == 3.0) {
    TENON_TRY(TensorId out, combine(call, blob::BinaryKind::Mul, x, x));
    if (number == 3.0) {
      TENON_TRY(out, combine(call, blob::BinaryKind::Mul, out, x));
    }
    return call.finish(out);
  }
  TENON_TRY(const TensorId power, call.tensor_or_scalar("exponent"));
  TENON_TRY(const TensorId out, combine(call, blob::BinaryKind::Pow, x, power));
  return call.finish(out);
}

constexpr OperatorRow elementwise_rows[] = {
    {"aten.add.Tensor", &binary<blob::BinaryKind::Add>},
    {"aten.add.Scalar", &binary<blob::BinaryKind::Add>},
    {"aten.sub.Tensor", &binary<blob::BinaryKind::Sub>},
    {"aten.sub.Scalar", &binary<blob::BinaryKind::Sub>},
    {"aten.rsub.Tensor", &rsub},
    {"aten.rsub.Scalar", &rsub},
    {"aten.mul.Tensor", &binary<blob::BinaryKind::Mul>},
    {"aten.mul.Scalar", &binary<blob::BinaryKind::Mul>},
    {"aten.div.Tensor", &binary<blob::BinaryKind::Div>},
    {"aten.div.Scalar", &binary<blob::BinaryKind::Div>},
    {"aten.relu.default", &unary_of_kind<blob::UnaryKind::Relu>},
    {"aten.sigmoid.default", &unary_of_kind<blob::UnaryKind::Sigmoid>},
    {"aten.tanh.default", &unary_of_kind<blob::UnaryKind::Tanh>},
    {"aten.gelu.default", &gelu},
    {"aten.neg.default", &unary_of_kind<blob::UnaryKind::Neg>},
    {"aten.exp.default", &unary_of_kind<blob::UnaryKind::Exp>},
    {"aten.sqrt.default", &unary_of_kind<blob::UnaryKind::Sqrt>},
    {"aten.rsqrt.default", &unary_of_kind<blob::UnaryKind::Rsqrt>},
    {"aten.abs.default", &unary_of_kind<blob::UnaryKind::Abs>},
    {"aten.silu.default", &unary_of_kind<blob::UnaryKind::Silu>, true},
    {"aten.hardsigmoid.default", &unary_of_kind<blob::UnaryKind::HardSigmoid>, true},
    {"aten.hardswish.default", &unary_of_kind<blob::UnaryKind::HardSwish>, true},
    {"aten.log.default", &unary_of_kind<blob::UnaryKind::Log>},
    {"aten.cos.default", &unary_of_kind<blob::UnaryKind::Cos>},
    {"aten.sin.default", &unary_of_kind<blob::UnaryKind::Sin>},
    {"aten.reciprocal.default", &reciprocal},
    {"aten.pow.Tensor_Scalar", &pow},
    {"aten.pow.Tensor_Tensor", &pow},
    {"aten.maximum.default", &binary<blob::BinaryKind::Maximum>},
    {"aten.minimum.default", &binary<blob::BinaryKind::Minimum>},
    {"aten.eq.Tensor", &compare<blob::CompareKind::Eq>},
    {"aten.eq.Scalar", &compare<blob::CompareKind::Eq>},
    {"aten.ne.Tensor", &compare<blob::CompareKind::Ne>},
    {"aten.ne.Scalar", &compare<blob::CompareKind::Ne>},
    {"aten.lt.Tensor", &compare<blob::CompareKind::Lt>},
    {"aten.lt.Scalar", &compare<blob::CompareKind::Lt>},
    {"aten.le.Tensor", &compare<blob::CompareKind::Le>},
    {"aten.le.Scalar", &compare<blob::CompareKind::Le>},
    {"aten.gt.Tensor", &compare<blob::CompareKind::Gt>},
    {"aten.gt.Scalar", &compare<blob::CompareKind::Gt>},
    {"aten.ge.Tensor", &compare<blob::CompareKind::Ge>},
    {"aten.ge.Scalar", &compare<blob::CompareKind::Ge>},
    {"aten.where.self", &where},
    {"aten.clamp.default", &clamp},
    {"aten.hardtanh.default", &hardtanh},
    {"aten.relu6.default", &relu6},
};

}  // namespace

std::span<const OperatorRow> elementwise_operators() noexcept { return elementwise_rows; }

}  // namespace graph_backend
