// SPDX-License-Identifier: MIT
#include "common/convolution_shape.hpp"

#include <algorithm>
#include <limits>

#include "tenon/aoti/shims/base_shims.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::aoti_common {

using aoti::ModelTensor;

namespace {

/// The test for 4 and 5 dimensions.
[[nodiscard]] bool test_channels_last(Sizes sizes, Sizes strides) noexcept {
  if (strides[1] == 0) return false;
  std::int64_t least = 0;
  const auto follows = [&](std::size_t d) {
    if (sizes[d] == 0 || strides[d] < least) return false;
    if (d == 0 && least == strides[1]) return false;  // Both orders fit: not channels-last.
    least = strides[d] * std::max<std::int64_t>(sizes[d], 1);
    return true;
  };
  if (!follows(1)) return false;
  for (std::size_t d = sizes.size(); d-- > 2;) {
    if (!follows(d)) return false;
  }
  return follows(0);
}

}  // namespace

Convolution make_convolution(const ModelTensor& input, const ModelTensor& weight,
                             ModelTensor** bias, const std::int64_t* stride,
                             std::int64_t stride_len, const std::int64_t* padding,
                             std::int64_t padding_len, const std::int64_t* dilation,
                             std::int64_t dilation_len, std::int32_t transposed,
                             const std::int64_t* output_padding, std::int64_t output_padding_len,
                             std::int64_t groups) noexcept {
  using aoti::shims::detail::list;
  return {input,
          weight,
          bias ? *bias : nullptr,
          static_cast<std::size_t>(weight.rank - 2),
          list(stride, stride_len),
          list(padding, padding_len),
          list(dilation, dilation_len),
          list(output_padding, output_padding_len),
          transposed != 0,
          groups};
}

bool is_channels_last(const ModelTensor& tensor) noexcept {
  if (tensor.rank > 3) return test_channels_last(tensor.shape(), tensor.step());
  // One spatial dimension is looked at as two, the first with one element.
  const auto& z = tensor.sizes;
  const auto& s = tensor.strides;
  const std::int64_t sizes[] = {z[0], z[1], 1, z[2]};
  const std::int64_t strides[] = {s[0], s[1], z[2] * s[2], s[2]};
  return test_channels_last(sizes, strides);
}

Dims channels_last_strides(Sizes sizes) noexcept {
  Dims strides{};
  std::int64_t step = 1;
  const auto place = [&](std::size_t d) {
    strides[d] = step;
    step *= std::max<std::int64_t>(sizes[d], 1);
  };
  place(1);
  for (std::size_t d = sizes.size(); d-- > 2;) place(d);
  place(0);
  return strides;
}

Status check_arguments(const Convolution& c) {
  const ModelTensor& x = c.input;
  const ModelTensor& w = c.weight;
  const auto spatial = c.spatial;
  if (spatial < 1 || spatial > 3 || x.rank != w.rank) {
    return error(Error::InvalidArgument, "an input ", shape_text(x.shape()), " and a weight ",
                 shape_text(w.shape()), ": expected 1 to 3 spatial dimensions of both");
  }
  if (x.scalar_type != w.scalar_type) {
    return error(Error::NotSupported, "an input of ", name_of(x.scalar_type), " and a weight of ",
                 name_of(w.scalar_type), ": expected one dtype");
  }
  for (const Sizes list :
       {c.stride, c.padding, c.dilation, c.transposed ? c.output_padding : c.stride}) {
    if (list.size() == spatial) continue;
    return error(Error::InvalidArgument, "a list of ", list.size(), " numbers: expected ", spatial,
                 ", one for each spatial dimension");
  }
  if (c.groups < 1 || w.sizes[0] % c.groups != 0) {
    return error(Error::InvalidArgument, "a weight ", shape_text(w.shape()), " with ", c.groups,
                 " groups: expected its first size to be a multiple of the groups");
  }
  const std::int64_t channels = c.transposed ? w.sizes[0] : w.sizes[1] * c.groups;
  if (x.sizes[1] != channels) {
    return error(Error::InvalidArgument, "an input ", shape_text(x.shape()), " with a weight ",
                 shape_text(w.shape()), " and ", c.groups, " groups: expected ", channels,
                 " channels, found ", x.sizes[1]);
  }
  const std::int64_t outputs = c.transposed ? w.sizes[1] * c.groups : w.sizes[0];
  if (c.bias &&
      (c.bias->rank != 1 || c.bias->sizes[0] != outputs || c.bias->scalar_type != x.scalar_type)) {
    return error(Error::InvalidArgument, "a bias ", shape_text(c.bias->shape()), " of ",
                 name_of(c.bias->scalar_type), ": expected [", outputs, "] of ",
                 name_of(x.scalar_type));
  }
  return ok();
}

Status output_sizes(const Convolution& c, Dims& sizes) {
  sizes[0] = c.input.sizes[0];
  sizes[1] = c.transposed ? c.weight.sizes[1] * c.groups : c.weight.sizes[0];
  for (std::size_t d = 0; d < c.spatial; ++d) {
    const std::int64_t in = c.input.sizes[d + 2];
    const std::int64_t output_padding = c.transposed ? c.output_padding[d] : 0;
    if (c.stride[d] < 1 || c.dilation[d] < 1 || c.padding[d] < 0 || output_padding < 0) {
      return error(Error::InvalidArgument, "stride ", c.stride[d], ", dilation ", c.dilation[d],
                   ", padding ", c.padding[d], ", output padding ", output_padding,
                   ": expected the first two positive, the others not negative");
    }
    // Products of two cannot overflow.
    const std::int64_t numbers[] = {in,           c.weight.sizes[d + 2], c.stride[d], c.dilation[d],
                                    c.padding[d], output_padding};
    if (std::ranges::max(numbers) > std::numeric_limits<std::int32_t>::max()) {
      return error(Error::InvalidArgument, "size ", in, ", kernel ", c.weight.sizes[d + 2],
                   ", stride ", c.stride[d], ", dilation ", c.dilation[d], ", padding ",
                   c.padding[d], ", output padding ", output_padding,
                   ": expected numbers of 32 bits");
    }
    const std::int64_t reach = c.dilation[d] * (c.weight.sizes[d + 2] - 1) + 1;
    const std::int64_t padded = in + 2 * c.padding[d];
    const std::int64_t out =
        c.transposed     ? (in - 1) * c.stride[d] - 2 * c.padding[d] + reach + output_padding
        : padded < reach ? 0
                         : (padded - reach) / c.stride[d] + 1;
    if (out < 1) {
      return error(Error::InvalidArgument, "an empty result: an input of ", in, " with padding ",
                   c.padding[d], " under a kernel that reaches over ", reach);
    }
    sizes[d + 2] = out;
  }
  return ok();
}

}  // namespace tenon::aoti_common
