// SPDX-License-Identifier: MIT
//
// Matrix products.
#include "aot/operators.hpp"

namespace graph_backend {

using tenon::Error;
using tenon::Status;

namespace {

Status product(const Call& call, std::string_view a_name, std::string_view b_name) {
  TENON_TRY(const TensorId a, call.tensor(a_name));
  TENON_TRY(const TensorId b, call.tensor(b_name));
  return call.make(make_operator(blob::MatMulT()), {a, b});
}

Status expect_rank(const Call& call, std::string_view name, std::size_t rank) {
  TENON_TRY(const TensorId id, call.tensor(name));
  const Shape shape = call.builder().operand(id).shape;
  if (shape.rank() == rank) return tenon::ok();
  return call.refuse_argument(name, tenon::concat(rank, " dimensions"), text_of(shape));
}

Status mm(const Call& call) {
  TENON_RETURN_IF_ERROR(expect_rank(call, "self", 2));
  TENON_RETURN_IF_ERROR(expect_rank(call, "mat2", 2));
  return product(call, "self", "mat2");
}

Status bmm(const Call& call) {
  TENON_RETURN_IF_ERROR(expect_rank(call, "self", 3));
  TENON_RETURN_IF_ERROR(expect_rank(call, "mat2", 3));
  return product(call, "self", "mat2");
}

/// Without batches that are broadcast.
Status matmul(const Call& call) { return product(call, "self", "other"); }

Status addmm(const Call& call) {
  TENON_RETURN_IF_ERROR(expect_rank(call, "mat1", 2));
  TENON_RETURN_IF_ERROR(expect_rank(call, "mat2", 2));
  blob::MatMulT op;
  TENON_TRY(const double alpha, call.number("alpha", 1));
  TENON_TRY(const double beta, call.number("beta", 1));
  op.alpha = static_cast<float>(alpha);
  op.beta = static_cast<float>(beta);
  TENON_TRY(const TensorId bias, call.tensor("self"));
  TENON_TRY(const TensorId a, call.tensor("mat1"));
  TENON_TRY(const TensorId b, call.tensor("mat2"));
  return call.make(make_operator(op), {a, b, bias});
}

/// The weight of `linear` is [N, K]. It is turned ahead of time when it is a constant (fold.cpp),
/// and the product has one form only.
Status linear(const Call& call) {
  TENON_RETURN_IF_ERROR(expect_rank(call, "weight", 2));
  TENON_TRY(const TensorId x, call.tensor("input"));
  TENON_TRY(const TensorId weight, call.tensor("weight"));
  TENON_TRY(const auto bias, call.optional_tensor("bias"));
  blob::PermuteT turn;
  turn.dims = {1, 0};
  TENON_TRY(const TensorId turned, call.add(make_operator(turn), {weight}));
  std::vector<TensorId> inputs = {x, turned};
  if (bias) inputs.push_back(*bias);
  return call.make(make_operator(blob::MatMulT()), std::move(inputs));
}

constexpr OperatorRow linear_rows[] = {
    {"aten.mm.default", &mm},         {"aten.bmm.default", &bmm},
    {"aten.addmm.default", &addmm},   {"aten.linear.default", &linear, true},
    {"aten.matmul.default", &matmul},
};

}  // namespace

std::span<const OperatorRow> linear_operators() noexcept { return linear_rows; }

}  // namespace graph_backend
