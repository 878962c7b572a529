// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <limits>

#include "metal_context.hpp"
#include "operator_checks.hpp"
#include "shim_list.hpp"

namespace tenon::metal_aoti {

namespace {

/// The numbers of one convolution, by spatial dimension.
struct Geometry {
  std::span<const std::int64_t> stride;
  std::span<const std::int64_t> padding;
  std::span<const std::int64_t> dilation;
  std::span<const std::int64_t> output_padding;
  bool transposed;
  std::int64_t groups;
};

Status check_tensors(const Tensor* input, const Tensor* weight, const Tensor* bias) {
  if (!input || !weight) {
    return error(Error::InvalidArgument, input ? "the weight" : "the input", " is null");
  }
  for (const Tensor* each : {input, weight, bias}) {
    if (!each) continue;
    if (each->scalar_type != input->scalar_type) {
      return error(Error::NotSupported, "expected tensors of one dtype, found ",
                   name_of(input->scalar_type), " and ", name_of(each->scalar_type));
    }
  }
  if (input->rank == weight->rank && input->rank >= 3 && input->rank <= 5) return ok();
  return error(Error::NotSupported, "expected an input and a weight of rank 3 to 5, found ",
               shape_text(input->shape()), " and ", shape_text(weight->shape()));
}

/// Sizes of the output.
Result<std::array<std::int64_t, 5>> output_sizes(const Tensor& input, const Tensor& weight,
                                                 const Geometry& geometry) {
  const auto spatial = static_cast<std::size_t>(input.rank) - 2;
  const std::int64_t groups = geometry.groups;
  const std::int64_t expected = geometry.transposed ? weight.sizes[0] : weight.sizes[1] * groups;
  if (groups < 1 || weight.sizes[0] % groups != 0 || input.sizes[1] != expected) {
    return error(Error::InvalidArgument, "an input ", shape_text(input.shape()), " and a weight ",
                 shape_text(weight.shape()), " do not go together in ", groups, " groups");
  }
  if (geometry.stride.size() != spatial || geometry.padding.size() != spatial ||
      geometry.dilation.size() != spatial ||
      (geometry.transposed && geometry.output_padding.size() != spatial)) {
    return error(Error::InvalidArgument, "stride, padding and dilation: expected ", spatial,
                 " numbers of each");
  }
  std::array<std::int64_t, 5> out{};
  out[0] = input.sizes[0];
  out[1] = geometry.transposed ? weight.sizes[1] * groups : weight.sizes[0];
  for (std::size_t d = 0; d < spatial; ++d) {
    const std::int64_t reach = geometry.dilation[d] * (weight.sizes[d + 2] - 1);
    const std::int64_t stride = geometry.stride[d];
    const std::int64_t padding = geometry.padding[d];
    if (stride < 1 || padding < 0 || geometry.dilation[d] < 1) {
      return error(Error::InvalidArgument, "stride ", stride, ", padding ", padding,
                   " and dilation ", geometry.dilation[d], " are no convolution");
    }
    out[d + 2] = geometry.transposed ? (input.sizes[d + 2] - 1) * stride - 2 * padding + reach +
                                           geometry.output_padding[d] + 1
                                     : (input.sizes[d + 2] + 2 * padding - reach - 1) / stride + 1;
    if (out[d + 2] < 0) return error(Error::InvalidArgument, "the kernel is larger than the input");
  }
  for (const Tensor* each : {&input, &weight}) {
    for (const std::int64_t size : each->shape()) {
      if (size > std::numeric_limits<std::int32_t>::max()) {
        return error(Error::NotSupported, "a size of ", size, ": too large");
      }
    }
  }
  return out;
}

/// True for the layout with the channels last. Sizes of 1 may fit both layouts; then the strides
/// tell which is meant (c10/core/MemoryFormat.h, is_channels_last_strides_2d).
bool is_channels_last(const Tensor& tensor) noexcept {
  if (tensor.rank < 4 || tensor.strides[1] != 1) return false;
  const auto rank = static_cast<std::size_t>(tensor.rank);
  std::int64_t expected = tensor.sizes[1];
  std::int64_t least = expected;
  bool meant = true;
  for (std::size_t i = 0; i < rank - 1; ++i) {
    const std::size_t d = i < rank - 2 ? rank - 1 - i : 0;
    if (tensor.sizes[d] != 1 && tensor.strides[d] != expected) return false;
    if (tensor.strides[d] < least || (d == 0 && least == 1)) meant = false;
    least = tensor.strides[d] * std::max<std::int64_t>(tensor.sizes[d], 1);
    expected *= tensor.sizes[d];
  }
  return !tensor.is_contiguous() || meant;
}

/// The output in the layout that PyTorch gives it: with the channels last when the input or the
/// weight has them there (ATen/native/ConvUtils.h, mps_conv_use_channels_last).
Tensor* make_output(const Tensor& input, const Tensor& weight,
                    const std::array<std::int64_t, 5>& sizes) {
  const auto rank = static_cast<std::size_t>(input.rank);
  std::array<std::int64_t, 5> strides{};
  const bool channels_last = is_channels_last(input) || is_channels_last(weight);
  if (channels_last) {
    strides[1] = 1;
    std::int64_t step = sizes[1];
    for (std::size_t d = rank; d-- > 2;) {
      strides[d] = step;
      step *= sizes[d];
    }
    strides[0] = step;
  }
  return new_tensor(std::span(sizes).first(rank), input, channels_last ? strides.data() : nullptr);
}

/// Batch and channel first, then the spatial dimensions at the end of three.
template <class T>
void spread(std::array<std::int64_t, 5>& to, const T& from, std::size_t rank) {
  to[0] = from[0];
  to[1] = from[1];
  for (std::size_t d = 2; d < rank; ++d) to[5 - rank + d] = from[d];
}

ConvolutionParameters describe(const Tensor& out, const Tensor& input, const Tensor& weight,
                               const Tensor* bias, const Geometry& geometry) {
  ConvolutionParameters to{};
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
    to.stride[i] = static_cast<std::int32_t>(geometry.stride[d]);
    to.padding[i] = static_cast<std::int32_t>(geometry.padding[d]);
    to.dilation[i] = static_cast<std::int32_t>(geometry.dilation[d]);
  }
  to.in_channels_of_group = static_cast<std::int32_t>(input.sizes[1] / geometry.groups);
  to.out_channels_of_group = static_cast<std::int32_t>(out.sizes[1] / geometry.groups);
  to.transposed = geometry.transposed;
  to.has_bias = bias != nullptr;
  to.bias_stride = bias ? bias->strides[0] : 0;
  return to;
}

Status convolution(const Tensor* input, const Tensor* weight, const Tensor* bias,
                   const Geometry& geometry, Tensor** out) {
  TENON_CHECK(check_tensors(input, weight, bias));
  TENON_TRY(const auto sizes, output_sizes(*input, *weight, geometry));
  if (bias && (bias->rank != 1 || bias->sizes[0] != sizes[1])) {
    return error(Error::InvalidArgument, "the bias: expected [", sizes[1], "], found ",
                 shape_text(bias->shape()));
  }
  MetalContext& context = current_context();
  TENON_TRY(const MetalFunction* const kernel,
            context.shared().own_kernel(OwnKernel::convolution, input->scalar_type));
  NewTensor made(make_output(*input, *weight, sizes));
  if (!made) return no_memory();
  if (made->numel != 0) {
    TENON_CHECK(context.begin(kernel));
    TENON_CHECK(context.set_tensor(0, *made));
    TENON_CHECK(context.set_tensor(1, *input));
    TENON_CHECK(context.set_tensor(2, *weight));
    TENON_CHECK(context.set_tensor(3, bias ? *bias : *weight));
    TENON_CHECK(context.set_value(4, describe(*made, *input, *weight, bias, geometry)));
    const auto plane = static_cast<std::uint64_t>(made->numel / sizes[0] / sizes[1]);
    TENON_CHECK(context.dispatch(
        {plane, static_cast<std::uint64_t>(sizes[1]), static_cast<std::uint64_t>(sizes[0])}, {}));
  }
  made.give_to(out);
  return ok();
}

std::span<const std::int64_t> list(const std::int64_t* values, std::int64_t count) noexcept {
  return {values, count > 0 ? static_cast<std::size_t>(count) : 0};
}

}  // namespace

ShimError aoti_torch_mps_convolution(Tensor* input, Tensor* weight, Tensor** bias,
                                     const std::int64_t* stride, std::int64_t stride_len,
                                     const std::int64_t* padding, std::int64_t padding_len,
                                     const std::int64_t* dilation, std::int64_t dilation_len,
                                     std::int32_t transposed, const std::int64_t* output_padding,
                                     std::int64_t output_padding_len, std::int64_t groups,
                                     Tensor** ret0) noexcept {
  return aoti::shim_call("aoti_torch_mps_convolution", [&] {
    const Geometry geometry{list(stride, stride_len),
                            list(padding, padding_len),
                            list(dilation, dilation_len),
                            list(output_padding, output_padding_len),
                            transposed != 0,
                            groups};
    return convolution(input, weight, bias ? *bias : nullptr, geometry, ret0);
  });
}

}  // namespace tenon::metal_aoti
