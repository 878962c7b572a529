// SPDX-License-Identifier: MIT
//
// Convolutions, batch norms and pooling.
#include <vector>

#include "aot/operators.hpp"

namespace graph_backend {

using tenon::Error;
using tenon::Result;
using tenon::Status;

namespace {

Status convolution(const Call& call) {
  TENON_TRY(const bool transposed, call.boolean("transposed", false));
  if (transposed) return call.refuse_argument("transposed", "false");
  blob::ConvolutionT op;
  TENON_TRY(op.stride, call.pair("stride", 1));
  TENON_TRY(op.padding, call.pair("padding", 0));
  TENON_TRY(op.dilation, call.pair("dilation", 1));
  TENON_TRY(const std::int64_t groups, call.integer("groups", 1));
  if (groups < 1 || groups > Shape::max_size) {
    return call.refuse_argument("groups", tenon::concat("1 to ", Shape::max_size));
  }
  op.groups = static_cast<std::int32_t>(groups);
  TENON_TRY(const TensorId x, call.tensor("input"));
  TENON_TRY(const TensorId weight, call.tensor("weight"));
  TENON_TRY(const auto bias, call.optional_tensor("bias"));
  std::vector<TensorId> inputs = {x, weight};
  if (bias) inputs.push_back(*bias);
  return call.make(make_operator(op), std::move(inputs));
}

blob::BinaryT binary(blob::BinaryKind kind) {
  blob::BinaryT op;
  op.kind = kind;
  return op;
}

/// [C] as [C, 1, 1, ...], to be broadcast over tensors of `rank` dimensions.
Result<TensorId> by_channel(const Call& call, TensorId tensor, std::size_t rank) {
  const Shape shape = call.builder().operand(tensor).shape;
  if (shape.rank() != 1 || rank < 2) {
    return error(Error::NotSupported, "statistics of sizes ", text_of(shape));
  }
  blob::ReshapeT op;
  op.sizes.emplace_back(static_cast<std::int32_t>(shape[0]), -1);
  for (std::size_t i = 2; i < rank; ++i) op.sizes.emplace_back(1, -1);
  return call.add(make_operator(std::move(op)), {tensor});
}

/// x * scale + shift, where both follow from the statistics. The statistics are constants, so a
/// product and a sum are left at run time, and become part of the convolution before them
/// (fold.cpp).
Status batch_norm(const Call& call) {
  TENON_TRY(const bool training, call.boolean("training", false));
  if (training) return call.refuse_argument("training", "false");
  TENON_TRY(const TensorId x, call.tensor("input"));
  TENON_TRY(const auto weight, call.optional_tensor("weight"));
  TENON_TRY(const auto bias, call.optional_tensor("bias"));
  TENON_TRY(const TensorId mean, call.tensor("running_mean"));
  TENON_TRY(const TensorId variance, call.tensor("running_var"));
  TENON_TRY(const double eps, call.number("eps", 1e-5));
  const auto combine = [&](blob::BinaryKind kind, TensorId a, TensorId b) {
    return call.add(make_operator(binary(kind)), {a, b});
  };
  const TensorId eps_tensor = call.builder().scalar(static_cast<float>(eps));
  TENON_TRY(const TensorId sum, combine(blob::BinaryKind::Add, variance, eps_tensor));
  blob::UnaryT rsqrt;
  rsqrt.kind = blob::UnaryKind::Rsqrt;
  TENON_TRY(TensorId scale, call.add(make_operator(rsqrt), {sum}));
  if (weight) {
    TENON_TRY(scale, combine(blob::BinaryKind::Mul, scale, *weight));
  }
  TENON_TRY(const TensorId moved, combine(blob::BinaryKind::Mul, mean, scale));
  const TensorId zero = call.builder().scalar(0);
  TENON_TRY(const TensorId shift, combine(blob::BinaryKind::Sub, bias ? *bias : zero, moved));
  const std::size_t rank = call.rank(x);
  TENON_TRY(const TensorId scales, by_channel(call, scale, rank));
  TENON_TRY(const TensorId shifts, by_channel(call, shift, rank));
  TENON_TRY(const TensorId product, combine(blob::BinaryKind::Mul, x, scales));
  return call.make(make_operator(binary(blob::BinaryKind::Add)), {product, shifts});
}

/// Kernel and stride, which is the kernel when it is left out.
template <class Pool>
Status read_window(const Call& call, Pool& op) {
  TENON_TRY(op.kernel, call.pair("kernel_size", 0));
  TENON_TRY(const auto stride, call.integers("stride"));
  op.stride = op.kernel;
  if (!stride.empty()) {
    TENON_TRY(op.stride, call.pair("stride", 0));
  }
  TENON_TRY(op.padding, call.pair("padding", 0));
  TENON_TRY(op.ceil_mode, call.boolean("ceil_mode", false));
  return tenon::ok();
}

Status max_pool(const Call& call) {
  blob::MaxPoolT op;
  TENON_RETURN_IF_ERROR(read_window(call, op));
  TENON_TRY(op.dilation, call.pair("dilation", 1));
  TENON_TRY(const TensorId x, call.tensor("self"));
  return call.make(make_operator(op), {x});
}

Status average_pool(const Call& call) {
  blob::AveragePoolT op;
  TENON_RETURN_IF_ERROR(read_window(call, op));
  TENON_TRY(op.count_include_pad, call.boolean("count_include_pad", true));
  TENON_TRY(const std::int64_t divisor, call.integer("divisor_override", 0));
  if (divisor < -Shape::max_size || divisor > Shape::max_size) {
    return call.refuse_argument("divisor_override",
                                tenon::concat(-Shape::max_size, " to ", Shape::max_size));
  }
  op.divisor = static_cast<std::int32_t>(divisor);
  TENON_TRY(const TensorId x, call.tensor("self"));
  return call.make(make_operator(op), {x});
}

Status adaptive_average_pool(const Call& call) {
  blob::AdaptiveAveragePoolT op;
  TENON_TRY(op.output, call.pair("output_size", 0));
  TENON_TRY(const TensorId x, call.tensor("self"));
  return call.make(make_operator(op), {x});
}

constexpr OperatorRow vision_rows[] = {
    {"aten.convolution.default", &convolution},
    {"aten.conv2d.default", &convolution},
    {"aten.batch_norm.default", &batch_norm},
    {"aten._native_batch_norm_legit_no_training.default", &batch_norm},
    {"aten.max_pool2d.default", &max_pool, true},
    {"aten.max_pool2d_with_indices.default", &max_pool},
    {"aten.avg_pool2d.default", &average_pool},
    {"aten.adaptive_avg_pool2d.default", &adaptive_average_pool, true},
    {"aten._adaptive_avg_pool2d.default", &adaptive_average_pool},
};

}  // namespace

std::span<const OperatorRow> vision_operators() noexcept { return vision_rows; }

}  // namespace graph_backend
