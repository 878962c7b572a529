// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "common/convolution_shape.hpp"
#include "device/metal_context.hpp"
#include "operators/operator_checks.hpp"
#include "shims/shim_list.hpp"

namespace tenon::metal_aoti {

namespace {

using namespace aoti_common;

/// Fails when the kernel's numbers, of 32 bits, cannot hold a size.
Status check_sizes(const Convolution& c) {
  for (const ModelTensor* each : {&c.input, &c.weight}) {
    for (const std::int64_t size : each->shape()) TENON_RETURN_IF_ERROR(narrow(size).status());
  }
  return ok();
}

/// True for a dense tensor with the channels last. False for a tensor whose strides only have that
/// order, as a slice of such a tensor.
bool is_packed_channels_last(const ModelTensor& tensor) noexcept {
  return is_channels_last(tensor) &&
         std::ranges::equal(
             tensor.step(),
             Sizes(channels_last_strides(tensor.shape())).first(tensor.step().size()));
}

/// True when the output has the channels last. Compiled code checks its strides, and PyTorch
/// decides them for compiled code and for its own kernel by one rule: the input or the weight is
/// packed with the channels last (ATen/native/ConvUtils.h, mps_conv_use_channels_last, PyTorch
/// 2.15). With one spatial dimension PyTorch first makes the input contiguous. A PyTorch that was
/// built without Metal, as for Linux, and a PyTorch that does not know the sizes plan a contiguous
/// output from the same arguments; only the model's check in its first run shows it
/// (`learn_layout`).
bool use_channels_last(const Convolution& c, const MetalContext& context) noexcept {
  if (context.has_contiguous_convolutions()) return false;
  return is_packed_channels_last(c.weight) || (c.spatial > 1 && is_packed_channels_last(c.input));
}

/// Batch and channel first, then the spatial dimensions at the end of three.
template <class T>
void spread(std::array<std::int64_t, 5>& to, const T& from, std::size_t rank) {
  to[0] = from[0];
  to[1] = from[1];
  for (std::size_t d = 2; d < rank; ++d) to[5 - rank + d] = from[d];
}

ConvolutionParameters describe(const ModelTensor& out, const Convolution& c) {
  ConvolutionParameters to{};
  const ModelTensor& input = c.input;
  const ModelTensor& weight = c.weight;
  const auto rank = static_cast<std::size_t>(input.rank);
  spread(to.in_strides, input.strides, rank);
  spread(to.weight_strides, weight.strides, rank);
  spread(to.out_strides, out.strides, rank);
  to.in_size = to.out_size = to.kernel_size = to.stride = to.dilation = {1, 1, 1};
  for (std::size_t d = 0; d < rank - 2; ++d) {
    const std::size_t i = 5 - rank + d;
    to.in_size[i] = static_cast<std::int32_t>(input.sizes[d + 2]);
    to.out_size[i] = static_cast<std::int32_t>(out.sizes[d + 2]);
    to.kernel_size[i] = static_cast<std::int32_t>(weight.sizes[d + 2]);
    to.stride[i] = static_cast<std::int32_t>(c.stride[d]);
    to.padding[i] = static_cast<std::int32_t>(c.padding[d]);
    to.dilation[i] = static_cast<std::int32_t>(c.dilation[d]);
  }
  to.in_channels_of_group = static_cast<std::int32_t>(input.sizes[1] / c.groups);
  to.out_channels_of_group = static_cast<std::int32_t>(out.sizes[1] / c.groups);
  to.transposed = c.transposed;
  to.has_bias = c.bias != nullptr;
  to.bias_stride = c.bias ? c.bias->strides[0] : 0;
  return to;
}

Status convolution(const Convolution& c, ModelTensor** out) {
  TENON_RETURN_IF_ERROR(check_arguments(c));
  TENON_RETURN_IF_ERROR(check_sizes(c));
  Dims sizes{};
  TENON_RETURN_IF_ERROR(output_sizes(c, sizes));
  const Sizes shape = Sizes(sizes).first(c.spatial + 2);
  MetalContext& context = current_context();
  TENON_TRY(const MetalFunction* const kernel,
            context.shared().own_kernel(OwnKernel::convolution, c.input.scalar_type));
  const Dims strides = channels_last_strides(shape);
  NewTensor made(
      new_tensor(shape, c.input, use_channels_last(c, context) ? strides.data() : nullptr));
  if (!made) return no_memory();
  if (made->numel != 0) {
    TENON_RETURN_IF_ERROR(context.begin(kernel));
    TENON_RETURN_IF_ERROR(context.set_tensor(0, *made));
    TENON_RETURN_IF_ERROR(context.set_tensor(1, c.input));
    TENON_RETURN_IF_ERROR(context.set_tensor(2, c.weight));
    TENON_RETURN_IF_ERROR(context.set_tensor(3, c.bias ? *c.bias : c.weight));
    TENON_RETURN_IF_ERROR(context.set_value(4, describe(*made, c)));
    const auto plane = static_cast<std::uint64_t>(made->numel / sizes[0] / sizes[1]);
    TENON_RETURN_IF_ERROR(context.dispatch(
        {plane, static_cast<std::uint64_t>(sizes[1]), static_cast<std::uint64_t>(sizes[0])}, {}));
  }
  made.give_to(out);
  return ok();
}

}  // namespace

ShimError aoti_torch_mps_convolution(ModelTensor* input, ModelTensor* weight, ModelTensor** bias,
                                     const std::int64_t* stride, std::int64_t stride_len,
                                     const std::int64_t* padding, std::int64_t padding_len,
                                     const std::int64_t* dilation, std::int64_t dilation_len,
                                     std::int32_t transposed, const std::int64_t* output_padding,
                                     std::int64_t output_padding_len, std::int64_t groups,
                                     ModelTensor** ret0) noexcept {
  return aoti::shim_call("aoti_torch_mps_convolution", [&]() -> Status {
    TENON_RETURN_IF_ERROR(check_tensor("the input", input));
    TENON_RETURN_IF_ERROR(check_tensor("the weight", weight));
    return convolution(
        make_convolution(*input, *weight, bias, stride, stride_len, padding, padding_len, dilation,
                         dilation_len, transposed, output_padding, output_padding_len, groups),
        ret0);
  });
}

}  // namespace tenon::metal_aoti
