// SPDX-License-Identifier: MIT
//
// Reductions and normalizations.
#include <numeric>

#include "aot/operators.hpp"

namespace openvino_backend {

namespace {

/// Over argument `dim`, or over all dimensions without one.
template <const Operation& operation>
Status reduce(const Call& call) {
  TENON_TRY(const EdgeValue described, call.described("self"));
  TENON_TRY(const auto dims, call.dims("dim", described.rank()));
  TENON_TRY(const bool keepdim, call.boolean("keepdim", false));
  TENON_TRY(const Output x, call.operand("self", call.dtype()));
  if (dims.empty()) return call.finish(x);
  return call.make({.type = operation.type,
                    .opset = operation.opset,
                    .inputs = {x, call.builder().integers(dims)},
                    .attributes = {{"keep_dims", keepdim ? "true" : "false"}}});
}

constexpr Operation sum_operation{"ReduceSum"};
constexpr Operation mean_operation{"ReduceMean"};
constexpr Operation max_operation{"ReduceMax"};
constexpr Operation min_operation{"ReduceMin"};
constexpr Operation any_operation{"ReduceLogicalOr"};
constexpr Operation all_operation{"ReduceLogicalAnd"};

template <bool logarithm>
Status softmax(const Call& call) {
  TENON_TRY(const EdgeValue described, call.described("self"));
  TENON_TRY(const std::int64_t dim, call.dim("dim", described.rank()));
  TENON_TRY(const Output x, call.operand("self", call.dtype()));
  return call.make({.type = logarithm ? "LogSoftmax" : "Softmax",
                    .opset = logarithm ? "opset5" : "opset8",
                    .inputs = {x},
                    .attributes = {{"axis", tenon::concat(dim)}}});
}

Result<Output> combined(const Call& call, std::string_view type, Output x, std::string_view name) {
  TENON_TRY(const auto other, call.optional_tensor(name));
  if (!other) return x;
  return call.builder().add({.type = type, .inputs = {x, *other}, .dtype = call.dtype()});
}

Status layer_norm(const Call& call) {
  IrBuilder& builder = call.builder();
  TENON_TRY(const EdgeValue described, call.described("input"));
  TENON_TRY(const auto normalized, call.integers("normalized_shape"));
  TENON_TRY(const double eps, call.number("eps", 1e-5));
  if (normalized.empty() || normalized.size() > described.rank()) {
    return call.refuse_argument("normalized_shape",
                                tenon::concat("1 to ", described.rank(), " sizes"));
  }
  std::vector<std::int64_t> dims(normalized.size());
  std::iota(dims.begin(), dims.end(),
            static_cast<std::int64_t>(described.rank() - normalized.size()));
  TENON_TRY(const Output x, call.tensor("input"));
  const Output normal = builder.add({.type = "MVN",
                                     .opset = "opset6",
                                     .inputs = {x, builder.integers(dims)},
                                     .attributes = {{"normalize_variance", "true"},
                                                    {"eps", number_text(eps)},
                                                    {"eps_mode", "inside_sqrt"}},
                                     .dtype = call.dtype()});
  TENON_TRY(const Output product, combined(call, "Multiply", normal, "weight"));
  TENON_TRY(const Output sum, combined(call, "Add", product, "bias"));
  return call.finish(sum);
}

/// One number a channel, of the argument or the same for all.
Result<Output> by_channel(const Call& call, std::string_view name, std::int64_t channels,
                          double initial) {
  TENON_TRY(const auto given, call.optional_tensor(name));
  if (given) return *given;
  IrBuilder& builder = call.builder();
  return builder.add(
      {.type = "Broadcast",
       .opset = "opset3",
       .inputs = {builder.scalar(initial, call.dtype()), builder.integers({channels})},
       .attributes = {{"mode", "numpy"}},
       .dtype = call.dtype()});
}

Result<std::int64_t> channels_of(const Call& call) {
  TENON_TRY(const EdgeValue x, call.described("input"));
  if (x.rank() < 2 || !x.size(1).is_static()) {
    return error(Error::NotSupported, "expected a fixed number of channels in dimension 1, found ",
                 x.rank() < 2 ? "fewer dimensions" : "a size that changes");
  }
  return x.size(1).max;
}

/// OpenVINO merges it into a convolution before it.
Status batch_norm(const Call& call) {
  TENON_TRY(const bool training, call.boolean("training", false));
  if (training) return call.refuse_argument("training", "false");
  TENON_TRY(const std::int64_t channels, channels_of(call));
  TENON_TRY(const double eps, call.number("eps", 1e-5));
  TENON_TRY(const Output x, call.tensor("input"));
  TENON_TRY(const Output gamma, by_channel(call, "weight", channels, 1));
  TENON_TRY(const Output beta, by_channel(call, "bias", channels, 0));
  TENON_TRY(const Output mean, call.tensor("running_mean"));
  TENON_TRY(const Output variance, call.tensor("running_var"));
  return call.make({.type = "BatchNormInference",
                    .opset = "opset5",
                    .inputs = {x, gamma, beta, mean, variance},
                    .attributes = {{"epsilon", number_text(eps)}}});
}

Status group_norm(const Call& call) {
  TENON_TRY(const std::int64_t channels, channels_of(call));
  TENON_TRY(const std::int64_t groups, call.integer(call.has("group") ? "group" : "num_groups"));
  TENON_TRY(const double eps, call.number("eps", 1e-5));
  TENON_TRY(const Output x, call.tensor("input"));
  TENON_TRY(const Output gamma, by_channel(call, "weight", channels, 1));
  TENON_TRY(const Output beta, by_channel(call, "bias", channels, 0));
  return call.make(
      {.type = "GroupNormalization",
       .opset = "opset12",
       .inputs = {x, gamma, beta},
       .attributes = {{"num_groups", tenon::concat(groups)}, {"epsilon", number_text(eps)}}});
}

constexpr OperatorRow reduction_rows[] = {
    {"aten.sum.default", &reduce<sum_operation>, Elements::Floats},
    {"aten.sum.dim_IntList", &reduce<sum_operation>, Elements::Floats},
    {"aten.mean.default", &reduce<mean_operation>, Elements::Floats},
    {"aten.mean.dim", &reduce<mean_operation>, Elements::Floats},
    {"aten.amax.default", &reduce<max_operation>, Elements::Numbers},
    {"aten.amin.default", &reduce<min_operation>, Elements::Numbers},
    {"aten.any.default", &reduce<any_operation>},
    {"aten.any.dim", &reduce<any_operation>},
    {"aten.any.dims", &reduce<any_operation>},
    {"aten.all.default", &reduce<all_operation>},
    {"aten.all.dim", &reduce<all_operation>},
    {"aten.softmax.int", &softmax<false>, Elements::Floats},
    {"aten._softmax.default", &softmax<false>, Elements::Floats},
    {"aten.log_softmax.int", &softmax<true>, Elements::Floats},
    {"aten._log_softmax.default", &softmax<true>, Elements::Floats},
    {"aten.layer_norm.default", &layer_norm, Elements::Floats, Reads::Elements, true},
    {"aten.native_layer_norm.default", &layer_norm, Elements::Floats},
    {"aten.batch_norm.default", &batch_norm, Elements::Floats},
    {"aten._native_batch_norm_legit_no_training.default", &batch_norm, Elements::Floats},
    {"aten.group_norm.default", &group_norm, Elements::Floats, Reads::Elements, true},
    {"aten.native_group_norm.default", &group_norm, Elements::Floats},
};

}  // namespace

std::span<const OperatorRow> reduction_operators() noexcept { return reduction_rows; }

}  // namespace openvino_backend
