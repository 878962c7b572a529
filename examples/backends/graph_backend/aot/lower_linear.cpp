// SPDX-License-Identifier: MIT
//
// Matrix products and attention.
#include <cmath>

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

/// The weight of `linear` is [N, K].
Status linear(const Call& call) {
  TENON_RETURN_IF_ERROR(expect_rank(call, "weight", 2));
  TENON_TRY(const TensorId x, call.tensor("input"));
  TENON_TRY(const TensorId weight, call.tensor("weight"));
  TENON_TRY(const auto bias, call.optional_tensor("bias"));
  blob::MatMulT op;
  op.transposed = true;
  std::vector<TensorId> inputs = {x, weight};
  if (bias) inputs.push_back(*bias);
  return call.make(make_operator(op), std::move(inputs));
}

/// Tensors [B, H, L, E], without dropout and without groups of heads.
Status attention(const Call& call) {
  TENON_TRY(const double dropout, call.number("dropout_p", 0));
  if (dropout != 0) return call.refuse_argument("dropout_p", "0");
  blob::AttentionT op;
  TENON_TRY(op.causal, call.boolean("is_causal", false));
  TENON_TRY(const TensorId query, call.tensor("query"));
  TENON_TRY(const TensorId key, call.tensor("key"));
  TENON_TRY(const TensorId value, call.tensor("value"));
  TENON_TRY(const auto mask, call.optional_tensor("attn_mask"));
  const Shape shape = call.builder().operand(query).shape;
  if (shape.rank() != 4) return call.refuse_argument("query", "4 dimensions", text_of(shape));
  TENON_TRY(const double scale,
            call.number("scale", 1 / std::sqrt(static_cast<double>(shape.last()))));
  op.scale = static_cast<float>(scale);
  std::vector<TensorId> inputs = {query, key, value};
  if (mask) inputs.push_back(*mask);
  return call.make(make_operator(op), std::move(inputs));
}

constexpr OperatorRow linear_rows[] = {
    {"aten.mm.default", &mm},
    {"aten.bmm.default", &bmm},
    {"aten.addmm.default", &addmm},
    {"aten.linear.default", &linear, true},
    {"aten.matmul.default", &matmul},
    {"aten.scaled_dot_product_attention.default", &attention, true},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", &attention, true},
};

}  // namespace

std::span<const OperatorRow> linear_operators() noexcept { return linear_rows; }

}  // namespace graph_backend
