// SPDX-License-Identifier: MIT
//
// Operators that see several elements at once.
#include <utility>
#include <vector>

#include "aot/operators.hpp"

namespace graph_backend {

using tenon::Error;
using tenon::Result;
using tenon::Status;

namespace {

template <blob::ReduceKind kind>
Status reduce(const Call& call) {
  // Another dtype would show in the result's dtype, which `finish` compares.
  TENON_TRY(const TensorId x, call.tensor("self"));
  TENON_TRY(const auto dims, call.dims("dim", call.rank(x)));
  blob::ReduceT op;
  op.kind = kind;
  TENON_TRY(op.keepdim, call.boolean("keepdim", false));
  for (const std::int64_t dim : dims) op.dims |= 1U << dim;
  return call.make(make_operator(op), {x});
}

template <bool log>
Status softmax(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("self"));
  TENON_TRY(const std::int64_t dim, call.dim("dim", call.rank(x)));
  blob::SoftmaxT op;
  op.dim = static_cast<std::uint8_t>(dim);
  op.log = log;
  return call.make(make_operator(op), {x});
}

/// The tensor, or one of these sizes full of `value`.
Result<TensorId> or_full(const Call& call, const std::optional<TensorId>& tensor,
                         const std::vector<std::int64_t>& sizes, float value) {
  if (tensor) return *tensor;
  const Shape shape{std::span<const std::int64_t>(sizes)};
  TENON_RETURN_IF_ERROR(check_shape(shape));
  const std::vector<std::int32_t> small(sizes.begin(), sizes.end());
  const std::vector<float> elements(static_cast<std::size_t>(shape.numel()), value);
  return call.builder().constant(value == 0 ? "zeros" : "ones", small, elements);
}

Status layer_norm(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("input"));
  TENON_TRY(const auto sizes, call.integers("normalized_shape"));
  TENON_TRY(const auto weight, call.optional_tensor("weight"));
  TENON_TRY(const auto bias, call.optional_tensor("bias"));
  TENON_TRY(const double eps, call.number("eps", 1e-5));
  if (sizes.empty() || sizes.size() > call.rank(x)) {
    return call.refuse_argument("normalized_shape", tenon::concat("1 to ", call.rank(x), " sizes"));
  }
  blob::LayerNormT op;
  op.dims = static_cast<std::uint8_t>(sizes.size());
  op.eps = static_cast<float>(eps);
  std::vector<TensorId> inputs = {x};
  if (weight || bias) {
    TENON_TRY(const TensorId scale, or_full(call, weight, sizes, 1));
    TENON_TRY(const TensorId shift, or_full(call, bias, sizes, 0));
    inputs.insert(inputs.end(), {scale, shift});
  }
  return call.make(make_operator(op), std::move(inputs));
}

/// Norms of groups of channels are norms of rows: [N, C, ...] as [N * groups, C / groups * ...].
Status group_norm(const Call& call) {
  TENON_TRY(const TensorId x, call.tensor("input"));
  TENON_TRY(const auto weight, call.optional_tensor("weight"));
  TENON_TRY(const auto bias, call.optional_tensor("bias"));
  TENON_TRY(const std::int64_t groups, call.integer("group"));
  TENON_TRY(const double eps, call.number("eps"));
  const Shape shape = call.builder().operand(x).shape;
  const std::int64_t numel = shape.numel();
  TENON_TRY(const tenon::aot::EdgeValue input, call.described("input"));
  if (!input.is_static() || shape.rank() < 2 || groups < 1 || shape[1] % groups != 0 ||
      numel == 0) {
    return call.refuse_argument("input", "[N, C, ...] of sizes that stay, C in equal groups");
  }
  const auto reshape = [&](TensorId tensor, std::span<const std::int64_t> sizes) {
    blob::ReshapeT op;
    for (const std::int64_t size : sizes)
      op.sizes.emplace_back(static_cast<std::int32_t>(size), -1);
    return call.add(make_operator(std::move(op)), {tensor});
  };
  const std::int64_t rows[] = {shape[0] * groups, numel / (shape[0] * groups)};
  TENON_TRY(const TensorId flat, reshape(x, rows));
  blob::LayerNormT norm;
  norm.dims = 1;
  norm.eps = static_cast<float>(eps);
  TENON_TRY(const TensorId normal, call.add(make_operator(norm), {flat}));
  TENON_TRY(TensorId out, reshape(normal, shape.sizes()));
  std::vector<std::int64_t> channels(shape.rank() - 1, 1);
  channels[0] = shape[1];
  for (const auto& [tensor, kind] :
       {std::pair(weight, blob::BinaryKind::Mul), std::pair(bias, blob::BinaryKind::Add)}) {
    if (!tensor) continue;
    TENON_TRY(const TensorId by_channel, reshape(*tensor, channels));
    blob::BinaryT op;
    op.kind = kind;
    TENON_TRY(out, call.add(make_operator(op), {out, by_channel}));
  }
  return call.finish(out);
}

constexpr OperatorRow reduction_rows[] = {
    {"aten.sum.default", &reduce<blob::ReduceKind::Sum>},
    {"aten.sum.dim_IntList", &reduce<blob::ReduceKind::Sum>},
    {"aten.mean.default", &reduce<blob::ReduceKind::Mean>},
    {"aten.mean.dim", &reduce<blob::ReduceKind::Mean>},
    {"aten.softmax.int", &softmax<false>},
    {"aten._softmax.default", &softmax<false>},
    {"aten.log_softmax.int", &softmax<true>},
    {"aten._log_softmax.default", &softmax<true>},
    {"aten.layer_norm.default", &layer_norm, true},
    {"aten.native_layer_norm.default", &layer_norm},
    {"aten.native_group_norm.default", &group_norm},
};

}  // namespace

std::span<const OperatorRow> reduction_operators() noexcept { return reduction_rows; }

}  // namespace graph_backend
