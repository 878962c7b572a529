// SPDX-License-Identifier: MIT
//
// Convolutions and pooling, of one to three dimensions.
#include <algorithm>

#include "aot/operators.hpp"

namespace openvino_backend {

namespace {

using Integers = std::vector<std::int64_t>;

/// All sizes of a weight, which must be known.
Result<Integers> fixed_sizes(const EdgeValue& value) {
  Integers out;
  for (std::size_t i = 0; i < value.rank(); ++i) {
    if (!value.size(i).is_static()) {
      return error(Error::NotSupported, "value '", value.name(), "': expected fixed sizes");
    }
    out.push_back(value.size(i).max);
  }
  return out;
}

/// The weights of a grouped convolution have one dimension more in OpenVINO: the groups.
Output grouped(IrBuilder& builder, Output weight, Integers sizes, std::int64_t groups,
               tenon::ScalarType dtype) {
  sizes[0] /= groups;
  sizes.insert(sizes.begin(), groups);
  return builder.add({.type = "Reshape",
                      .inputs = {weight, builder.integers(sizes)},
                      .attributes = {{"special_zero", "false"}},
                      .dtype = dtype});
}

Status convolution(const Call& call) {
  IrBuilder& builder = call.builder();
  TENON_TRY(const EdgeValue described, call.described("input"));
  TENON_TRY(const EdgeValue weights, call.described("weight"));
  TENON_TRY(const Integers sizes, fixed_sizes(weights));
  if (sizes.size() < 3 || sizes.size() > 5 || described.rank() != sizes.size()) {
    return error(Error::NotSupported, "expected batches of 1 to 3 dimensions, found an input of ",
                 described.rank(), " and a weight of ", sizes.size(), " dimensions");
  }
  const std::size_t count = sizes.size() - 2;
  TENON_TRY(const bool transposed, call.boolean("transposed", false));
  TENON_TRY(const Integers stride, call.window("stride", count, 1));
  TENON_TRY(const Integers padding, call.window("padding", count, 0));
  TENON_TRY(const Integers dilation, call.window("dilation", count, 1));
  TENON_TRY(const Integers output_padding, call.window("output_padding", count, 0));
  TENON_TRY(const std::int64_t groups, call.integer("groups", 1));
  if (groups < 1 || sizes[0] % groups != 0) {
    return call.refuse_argument("groups", tenon::concat("a divisor of ", sizes[0]));
  }
  TENON_TRY(const Output x, call.tensor("input"));
  TENON_TRY(Output weight, call.tensor("weight"));
  TENON_TRY(const auto bias, call.optional_tensor("bias"));
  if (groups != 1) weight = grouped(builder, weight, sizes, groups, call.dtype());

  NewLayer layer = {.inputs = {x, weight},
                    .attributes = {{"strides", list_text(stride)},
                                   {"dilations", list_text(dilation)},
                                   {"pads_begin", list_text(padding)},
                                   {"pads_end", list_text(padding)},
                                   {"auto_pad", "explicit"}}};
  if (transposed) {
    layer.type = groups == 1 ? "ConvolutionBackpropData" : "GroupConvolutionBackpropData";
    layer.attributes.emplace_back("output_padding", list_text(output_padding));
  } else {
    layer.type = groups == 1 ? "Convolution" : "GroupConvolution";
  }
  if (!bias) return call.make(std::move(layer));
  layer.dtype = call.dtype();
  const Output product = builder.add(std::move(layer));
  Integers by_channel(sizes.size(), 1);
  by_channel[1] = -1;
  const Output shift = builder.add({.type = "Reshape",
                                    .inputs = {*bias, builder.integers(by_channel)},
                                    .attributes = {{"special_zero", "false"}},
                                    .dtype = call.dtype()});
  return call.make({.type = "Add", .inputs = {product, shift}});
}

/// The window of a pooling over the last `count` dimensions of argument `self`.
Result<Attributes> pooling(const Call& call, std::size_t count) {
  TENON_TRY(const EdgeValue described, call.described("self"));
  if (described.rank() != count + 2) {
    return error(Error::NotSupported, "expected batches, of ", count + 2, " dimensions, found ",
                 described.rank());
  }
  TENON_TRY(const Integers kernel, call.window("kernel_size", count, 0));
  if (std::ranges::count(kernel, 0) != 0) {
    return call.refuse_argument("kernel_size", "integers from 1 on");
  }
  TENON_TRY(const auto given, call.integers("stride"));
  Integers stride = kernel;
  if (!given.empty()) {
    TENON_TRY(stride, call.window("stride", count, 0));
  }
  TENON_TRY(const Integers padding, call.window("padding", count, 0));
  TENON_TRY(const bool ceil_mode, call.boolean("ceil_mode", false));
  return Attributes{{"strides", list_text(stride)},
                    {"pads_begin", list_text(padding)},
                    {"pads_end", list_text(padding)},
                    {"kernel", list_text(kernel)},
                    {"auto_pad", "explicit"},
                    // PyTorch drops a last window that would begin in the padding.
                    {"rounding_type", ceil_mode ? "ceil_torch" : "floor"}};
}

template <std::size_t count>
Status max_pool(const Call& call) {
  TENON_TRY(Attributes attributes, pooling(call, count));
  TENON_TRY(const Integers dilation, call.window("dilation", count, 1));
  attributes.emplace_back("dilations", list_text(dilation));
  attributes.emplace_back("index_element_type", "i64");
  attributes.emplace_back("axis", "0");
  TENON_TRY(const Output x, call.tensor("self"));
  // Its second output, positions, differs from PyTorch's.
  return call.make({.type = "MaxPool",
                    .opset = "opset14",
                    .inputs = {x},
                    .attributes = std::move(attributes),
                    .num_outputs = 2});
}

template <std::size_t count>
Status average_pool(const Call& call) {
  TENON_TRY(Attributes attributes, pooling(call, count));
  TENON_RETURN_IF_ERROR(call.expect_none("divisor_override"));
  TENON_TRY(const bool includes, call.boolean("count_include_pad", true));
  attributes.emplace_back("exclude-pad", includes ? "false" : "true");
  TENON_TRY(const Output x, call.tensor("self"));
  return call.make(
      {.type = "AvgPool", .opset = "opset14", .inputs = {x}, .attributes = std::move(attributes)});
}

Status adaptive_average_pool(const Call& call) {
  IrBuilder& builder = call.builder();
  TENON_TRY(const EdgeValue described, call.described("self"));
  if (described.rank() != 4) {
    return error(Error::NotSupported, "expected batches, of 4 dimensions, found ",
                 described.rank());
  }
  TENON_TRY(const Integers sizes, call.window("output_size", 2, 0));
  if (std::ranges::count(sizes, 0) != 0) {
    return call.refuse_argument("output_size", "integers from 1 on");
  }
  TENON_TRY(const Output x, call.tensor("self"));
  if (sizes[0] == 1 && sizes[1] == 1) {
    return call.make({.type = "ReduceMean",
                      .inputs = {x, builder.integers({2, 3})},
                      .attributes = {{"keep_dims", "true"}}});
  }
  return call.make(
      {.type = "AdaptiveAvgPool", .opset = "opset8", .inputs = {x, builder.integers(sizes)}});
}

constexpr OperatorRow vision_rows[] = {
    {"aten.convolution.default", &convolution, Elements::Floats},
    {"aten.conv1d.default", &convolution, Elements::Floats},
    {"aten.conv2d.default", &convolution, Elements::Floats},
    {"aten.conv3d.default", &convolution, Elements::Floats},
    {"aten.max_pool2d.default", &max_pool<2>, Elements::Floats, Reads::Elements, true},
    {"aten.max_pool2d_with_indices.default", &max_pool<2>, Elements::Floats},
    {"aten.avg_pool1d.default", &average_pool<1>, Elements::Floats},
    {"aten.avg_pool2d.default", &average_pool<2>, Elements::Floats},
    {"aten.avg_pool3d.default", &average_pool<3>, Elements::Floats},
    {"aten.adaptive_avg_pool2d.default", &adaptive_average_pool, Elements::Floats, Reads::Elements,
     true},
    {"aten._adaptive_avg_pool2d.default", &adaptive_average_pool, Elements::Floats},
};

}  // namespace

std::span<const OperatorRow> vision_operators() noexcept { return vision_rows; }

}  // namespace openvino_backend
