// SPDX-License-Identifier: MIT
//
// Layers of language models that PyTorch has no operator for: products with weights of 4 bits
// (torchao's `_linear_fp_act_4bit_weight`, ExecuTorch's `metal::gather_qmv`) and the gated delta
// rule of linear attention (ExecuTorch's `metal::gated_delta_rule`). They compute what the
// operators' Python definitions do, in torchao/experimental/ops/mps and in
// executorch/backends/apple/metal/ops.
#include <array>

#include "device/metal_context.hpp"
#include "operators/operator_checks.hpp"
#include "shims/shim_list.hpp"

namespace tenon::metal_aoti {

namespace {

constexpr std::uint64_t simd_width = 32;

/// One simdgroup for each element of a plane, in its own group.
Status dispatch_simdgroups(std::int64_t x, std::int64_t y, std::int64_t z) {
  return current_context().dispatch({simd_width * static_cast<std::uint64_t>(x),
                                     static_cast<std::uint64_t>(y), static_cast<std::uint64_t>(z)},
                                    {simd_width, 1, 1});
}

Status check_rank(std::string_view what, const ModelTensor& tensor, std::int32_t rank) {
  if (tensor.rank == rank) return ok();
  return error(Error::InvalidArgument, what, ": expected rank ", rank, ", found ",
               shape_text(tensor.shape()));
}

/// x of shape [P, K] times the rows of one matrix, or of the matrix that an index selects for each
/// row of x. The matrices are adjacent.
struct QuantizedProduct {
  const ModelTensor* x;
  const ModelTensor* weight;
  const ModelTensor* scales;
  const ModelTensor* biases;
  const ModelTensor* indices;  ///< Null for one matrix.
  std::int64_t group_size;
};

Status check_quantized(const QuantizedProduct& arguments) {
  const auto& [x, weight, scales, biases, indices, group_size] = arguments;
  TENON_RETURN_IF_ERROR(check_tensor("x", x));
  TENON_RETURN_IF_ERROR(check_tensor("weight", weight));
  TENON_RETURN_IF_ERROR(check_tensor("scales", scales));
  TENON_RETURN_IF_ERROR(check_tensor("biases", biases));
  if (group_size != 32 && group_size != 64 && group_size != 128 && group_size != 256) {
    return error(Error::InvalidArgument, "group_size: expected 32, 64, 128 or 256, found ",
                 group_size);
  }
  TENON_RETURN_IF_ERROR(check_rank("x", *x, 2));
  TENON_RETURN_IF_ERROR(check_rank("weight", *weight, indices ? 3 : 2));
  if (weight->scalar_type != ScalarType::Byte) {
    return error(Error::InvalidArgument, "weight: expected dtype Byte, found ",
                 name_of(weight->scalar_type));
  }
  TENON_RETURN_IF_ERROR(check_same("scales", *scales, *x));
  TENON_RETURN_IF_ERROR(check_same("biases", *biases, *x));
  const std::int64_t inner = x->sizes[1];
  if (inner % 8 != 0) {
    return error(Error::InvalidArgument, "x: expected a multiple of 8 columns, found ",
                 shape_text(x->shape()));
  }
  std::array<std::int64_t, 3> sizes =
      weight->rank == 3 ? std::array{weight->sizes[0], weight->sizes[1], inner / 2}
                        : std::array{weight->sizes[0], inner / 2, std::int64_t{0}};
  const std::span shape(sizes.data(), static_cast<std::size_t>(weight->rank));
  TENON_RETURN_IF_ERROR(check_shape("weight", *weight, shape));
  shape.back() = (inner + group_size - 1) / group_size;
  TENON_RETURN_IF_ERROR(check_shape("scales", *scales, shape));
  TENON_RETURN_IF_ERROR(check_shape("biases", *biases, shape));
  TENON_RETURN_IF_ERROR(check_contiguous("weight", *weight));
  TENON_RETURN_IF_ERROR(check_contiguous("scales", *scales));
  TENON_RETURN_IF_ERROR(check_contiguous("biases", *biases));
  if (!indices) return ok();
  TENON_RETURN_IF_ERROR(check_shape("indices", *indices, {x->sizes[0]}));
  if (indices->scalar_type == ScalarType::Int || indices->scalar_type == ScalarType::Long) {
    return ok();
  }
  return error(Error::NotSupported, "indices: expected dtype Int or Long, found ",
               name_of(indices->scalar_type));
}

Status quantized_product(const QuantizedProduct& arguments, ModelTensor** out) {
  TENON_RETURN_IF_ERROR(check_quantized(arguments));
  const ModelTensor& x = *arguments.x;
  const ModelTensor& weight = *arguments.weight;
  const ModelTensor* const indices = arguments.indices;
  MetalContext& context = current_context();
  TENON_TRY(const MetalFunction* const kernel,
            context.shared().own_kernel(OwnKernel::quantized_product, x.scalar_type));
  const auto last = static_cast<std::size_t>(weight.rank) - 1;
  QuantizedProductParameters parameters{};
  parameters.x = {x.strides[0], x.strides[1]};
  TENON_TRY(parameters.columns, narrow(weight.sizes[last - 1]));
  TENON_TRY(parameters.inner, narrow(x.sizes[1]));
  TENON_TRY(parameters.groups, narrow(arguments.scales->sizes[last]));
  parameters.group_size = static_cast<std::int32_t>(arguments.group_size);
  parameters.experts = 1;
  if (indices) {
    TENON_TRY(parameters.experts, narrow(weight.sizes[0]));
    parameters.indices = indices->strides[0];
    parameters.index_kind = indices->scalar_type == ScalarType::Int ? 1 : 2;
  }
  const std::array sizes{x.sizes[0], weight.sizes[last - 1]};
  NewTensor made(new_tensor(sizes, x));
  if (!made) return no_memory();
  if (made->numel != 0) {
    TENON_RETURN_IF_ERROR(context.begin(kernel));
    TENON_RETURN_IF_ERROR(context.set_tensor(0, *made));
    TENON_RETURN_IF_ERROR(context.set_tensor(1, x));
    TENON_RETURN_IF_ERROR(context.set_tensor(2, weight));
    TENON_RETURN_IF_ERROR(context.set_tensor(3, *arguments.scales));
    TENON_RETURN_IF_ERROR(context.set_tensor(4, *arguments.biases));
    TENON_RETURN_IF_ERROR(context.set_tensor(5, indices ? *indices : x));
    TENON_RETURN_IF_ERROR(context.set_value(6, parameters));
    TENON_RETURN_IF_ERROR(dispatch_simdgroups(sizes[1], sizes[0], 1));
  }
  made.give_to(out);
  return ok();
}

struct DeltaRule {
  const ModelTensor* q;
  const ModelTensor* k;
  const ModelTensor* v;
  const ModelTensor* g;
  const ModelTensor* beta;
  const ModelTensor* state;
};

/// Gates and state may be kept in float32 where the rest has 16 bits.
Status check_same_or_float(std::string_view what, const ModelTensor& tensor,
                           const ModelTensor& first) {
  return tensor.scalar_type == ScalarType::Float ? ok() : check_same(what, tensor, first);
}

Status check_delta_rule(const DeltaRule& arguments) {
  const auto& [q, k, v, g, beta, state] = arguments;
  TENON_RETURN_IF_ERROR(check_tensor("q", q));
  TENON_RETURN_IF_ERROR(check_tensor("k", k));
  TENON_RETURN_IF_ERROR(check_tensor("v", v));
  TENON_RETURN_IF_ERROR(check_tensor("g", g));
  TENON_RETURN_IF_ERROR(check_tensor("beta", beta));
  TENON_RETURN_IF_ERROR(check_written("state", state));
  TENON_RETURN_IF_ERROR(check_same("k", *k, *q));
  TENON_RETURN_IF_ERROR(check_same("v", *v, *q));
  TENON_RETURN_IF_ERROR(check_same_or_float("g", *g, *q));
  TENON_RETURN_IF_ERROR(check_same_or_float("beta", *beta, *q));
  TENON_RETURN_IF_ERROR(check_same_or_float("state", *state, *q));
  TENON_RETURN_IF_ERROR(check_rank("q", *q, 4));
  TENON_RETURN_IF_ERROR(check_rank("v", *v, 4));
  const std::int64_t batches = q->sizes[0], steps = q->sizes[1], keys = q->sizes[3];
  const std::int64_t heads = v->sizes[2], values = v->sizes[3];
  TENON_RETURN_IF_ERROR(check_shape("k", *k, q->shape()));
  TENON_RETURN_IF_ERROR(check_shape("v", *v, {batches, steps, heads, values}));
  TENON_RETURN_IF_ERROR(check_shape("g", *g, {batches, steps, heads}));
  TENON_RETURN_IF_ERROR(check_shape("beta", *beta, {batches, steps, heads}));
  TENON_RETURN_IF_ERROR(check_shape("state", *state, {batches, heads, values, keys}));
  if (q->sizes[2] == 0 || heads % q->sizes[2] != 0) {
    return error(Error::InvalidArgument,
                 "expected heads of v that are a multiple of the heads of q, ", "found ", heads,
                 " and ", q->sizes[2]);
  }
  if (keys <= GatedDeltaRuleParameters::max_keys) return ok();
  return error(Error::NotSupported, "q: expected at most ", GatedDeltaRuleParameters::max_keys,
               " elements in the last dimension, found ", keys);
}

template <std::size_t rank>
std::array<std::int64_t, rank> strides_of(const ModelTensor& tensor) {
  std::array<std::int64_t, rank> out;
  std::copy_n(tensor.strides.begin(), rank, out.begin());
  return out;
}

Status gated_delta_rule(const DeltaRule& arguments, ModelTensor** out) {
  TENON_RETURN_IF_ERROR(check_delta_rule(arguments));
  const ModelTensor& q = *arguments.q;
  const ModelTensor& v = *arguments.v;
  MetalContext& context = current_context();
  TENON_TRY(const MetalFunction* const kernel,
            context.shared().own_kernel(OwnKernel::gated_delta_rule, q.scalar_type));
  GatedDeltaRuleParameters parameters{};
  parameters.q = strides_of<4>(q);
  parameters.k = strides_of<4>(*arguments.k);
  parameters.v = strides_of<4>(v);
  parameters.g = strides_of<3>(*arguments.g);
  parameters.beta = strides_of<3>(*arguments.beta);
  parameters.state = strides_of<4>(*arguments.state);
  TENON_TRY(parameters.steps, narrow(q.sizes[1]));
  TENON_TRY(parameters.heads, narrow(v.sizes[2]));
  TENON_TRY(parameters.keys, narrow(q.sizes[3]));
  TENON_TRY(parameters.values, narrow(v.sizes[3]));
  TENON_TRY(parameters.shared, narrow(v.sizes[2] / q.sizes[2]));
  parameters.g_is_float = arguments.g->scalar_type == ScalarType::Float;
  parameters.beta_is_float = arguments.beta->scalar_type == ScalarType::Float;
  parameters.state_is_float = arguments.state->scalar_type == ScalarType::Float;
  NewTensor made(new_tensor(v.shape(), v));
  if (!made) return no_memory();
  if (made->numel != 0) {
    TENON_RETURN_IF_ERROR(context.begin(kernel));
    TENON_RETURN_IF_ERROR(context.set_tensor(0, *made));
    TENON_RETURN_IF_ERROR(context.set_tensor(1, q));
    TENON_RETURN_IF_ERROR(context.set_tensor(2, *arguments.k));
    TENON_RETURN_IF_ERROR(context.set_tensor(3, v));
    TENON_RETURN_IF_ERROR(context.set_tensor(4, *arguments.g));
    TENON_RETURN_IF_ERROR(context.set_tensor(5, *arguments.beta));
    TENON_RETURN_IF_ERROR(context.set_tensor(6, *arguments.state));
    TENON_RETURN_IF_ERROR(context.set_value(7, parameters));
    TENON_RETURN_IF_ERROR(dispatch_simdgroups(1, v.sizes[3], v.sizes[0] * v.sizes[2]));
  }
  made.give_to(out);
  return ok();
}

}  // namespace

ShimError aoti_torch_mps__linear_fp_act_4bit_weight(ModelTensor* activations, ModelTensor* weight,
                                                    std::int64_t group_size, ModelTensor* scales,
                                                    ModelTensor* zeros,
                                                    ModelTensor** ret0) noexcept {
  return aoti::shim_call("aoti_torch_mps__linear_fp_act_4bit_weight", [&] {
    return quantized_product({activations, weight, scales, zeros, nullptr, group_size}, ret0);
  });
}
ShimError aoti_torch_mps_gather_qmv(ModelTensor* x, ModelTensor* w, ModelTensor* scales,
                                    ModelTensor* biases, ModelTensor* expert_indices,
                                    std::int64_t group_size, ModelTensor** ret0) noexcept {
  return aoti::shim_call("aoti_torch_mps_gather_qmv", [&]() -> Status {
    TENON_RETURN_IF_ERROR(check_tensor("indices", expert_indices));
    return quantized_product({x, w, scales, biases, expert_indices, group_size}, ret0);
  });
}
ShimError aoti_torch_mps_gated_delta_rule(ModelTensor* q, ModelTensor* k, ModelTensor* v,
                                          ModelTensor* g, ModelTensor* beta, ModelTensor* state,
                                          ModelTensor** ret0) noexcept {
  return aoti::shim_call("aoti_torch_mps_gated_delta_rule",
                         [&] { return gated_delta_rule({q, k, v, g, beta, state}, ret0); });
}

}  // namespace tenon::metal_aoti
