// SPDX-License-Identifier: MIT
//
// Matrix products and attention.
#include "aot/operators.hpp"

namespace openvino_backend {

namespace {

NewLayer product_of(Output a, Output b, bool transpose_b = false) {
  return {
      .type = "MatMul",
      .inputs = {a, b},
      .attributes = {{"transpose_a", "false"}, {"transpose_b", transpose_b ? "true" : "false"}}};
}

Status expect_rank(const Call& call, std::string_view name, std::size_t rank) {
  TENON_TRY(const auto value, call.described(name));
  if (value.rank() == rank) return tenon::ok();
  return call.refuse_argument(name, tenon::concat(rank, " dimensions"),
                              tenon::concat(value.rank()));
}

template <std::size_t rank>
Status mm(const Call& call) {
  TENON_RETURN_IF_ERROR(expect_rank(call, "self", rank));
  TENON_RETURN_IF_ERROR(expect_rank(call, "mat2", rank));
  TENON_TRY(const Output a, call.tensor("self"));
  TENON_TRY(const Output b, call.tensor("mat2"));
  return call.make(product_of(a, b));
}

/// MatMul has NumPy's rules for one dimension and for batches, as PyTorch does.
Status matmul(const Call& call) {
  TENON_TRY(const Output a, call.tensor("self"));
  TENON_TRY(const Output b, call.tensor("other"));
  return call.make(product_of(a, b));
}

Result<Output> scaled(const Call& call, Output x, std::string_view name) {
  TENON_TRY(const double factor, call.number(name, 1));
  if (factor == 1) return x;
  const Output scalar = call.builder().scalar(factor, call.dtype());
  return call.builder().add({.type = "Multiply", .inputs = {x, scalar}, .dtype = call.dtype()});
}

Status addmm(const Call& call) {
  TENON_RETURN_IF_ERROR(expect_rank(call, "mat1", 2));
  TENON_RETURN_IF_ERROR(expect_rank(call, "mat2", 2));
  TENON_TRY(const Output a, call.tensor("mat1"));
  TENON_TRY(const Output b, call.tensor("mat2"));
  TENON_TRY(const Output bias, call.tensor("self"));
  NewLayer layer = product_of(a, b);
  layer.dtype = call.dtype();
  TENON_TRY(const Output product, scaled(call, call.builder().add(std::move(layer)), "alpha"));
  TENON_TRY(const Output summand, scaled(call, bias, "beta"));
  return call.make({.type = "Add", .inputs = {product, summand}});
}

Status linear(const Call& call) {
  TENON_RETURN_IF_ERROR(expect_rank(call, "weight", 2));
  TENON_TRY(const Output x, call.tensor("input"));
  TENON_TRY(const Output weight, call.tensor("weight"));
  TENON_TRY(const auto bias, call.optional_tensor("bias"));
  NewLayer layer = product_of(x, weight, true);
  if (!bias) return call.make(std::move(layer));
  layer.dtype = call.dtype();
  const Output product = call.builder().add(std::move(layer));
  return call.make({.type = "Add", .inputs = {product, *bias}});
}

Status attention(const Call& call) {
  TENON_TRY(const double dropout, call.number("dropout_p", 0));
  if (dropout != 0) return call.refuse_argument("dropout_p", "0");
  TENON_TRY(const bool enable_gqa, call.boolean("enable_gqa", false));
  if (enable_gqa) return call.refuse_argument("enable_gqa", "false");
  TENON_TRY(const bool is_causal, call.boolean("is_causal", false));
  TENON_TRY(const auto q, call.described("query"));
  TENON_TRY(const auto k, call.described("key"));
  if (q.rank() < 3 || k.rank() != q.rank()) {
    return error(Error::NotSupported, "expected query and key of equal ranks from 3, found ",
                 q.rank(), " and ", k.rank());
  }
  TENON_TRY(const Output query, call.tensor("query"));
  TENON_TRY(const Output key, call.tensor("key"));
  TENON_TRY(const Output value, call.tensor("value"));
  TENON_TRY(auto mask, call.optional_tensor("attn_mask"));
  if (is_causal && mask) return call.refuse_argument("attn_mask", "None with is_causal");
  NewLayer layer = {.type = "ScaledDotProductAttention",
                    .opset = "opset13",
                    .inputs = {query, key, value},
                    .attributes = {{"causal", is_causal ? "true" : "false"}}};
  if (mask) {
    const auto found = call.builder().dtype(*mask);
    if (found != call.dtype() && found != tenon::ScalarType::Bool) {
      return call.refuse_argument(
          "attn_mask", tenon::concat("dtype Bool or ", name_of(call.dtype())), name_of(found));
    }
    layer.inputs.push_back(*mask);
  }
  if (call.has("scale")) {
    TENON_TRY(const double scale, call.number("scale"));
    // The scale is the fifth input; a number in the place of the mask means none.
    if (!mask) layer.inputs.push_back(call.builder().scalar(0, call.dtype()));
    layer.inputs.push_back(call.builder().scalar(scale, call.dtype()));
  }
  return call.make(std::move(layer));
}

constexpr OperatorRow linear_rows[] = {
    {"aten.mm.default", &mm<2>, Elements::Floats},
    {"aten.bmm.default", &mm<3>, Elements::Floats},
    {"aten.matmul.default", &matmul, Elements::Floats},
    {"aten.addmm.default", &addmm, Elements::Floats},
    {"aten.linear.default", &linear, Elements::Floats, Reads::Elements, true},
    {"aten.scaled_dot_product_attention.default", &attention, Elements::Floats, Reads::Elements,
     true},
};

}  // namespace

std::span<const OperatorRow> linear_operators() noexcept { return linear_rows; }

}  // namespace openvino_backend
