// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "kernel_list.hpp"
#include "onednn.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;
using namespace onednn;

/// A convolution as it was asked for, with a batch dimension.
struct Convolution {
  Tensor input;   ///< [N, C, ...]; storage as the caller's.
  Tensor weight;  ///< [O, C / groups, ...], or [C, O / groups, ...] when transposed.
  const Tensor* bias = nullptr;
  std::size_t spatial = 0;
  Sizes stride, padding, dilation, output_padding;
  bool transposed = false;
  std::int64_t groups = 1;
};

/// PyTorch's test for the channels-last order of 4 and 5 dimensions, with its treatment of
/// dimensions of one element: compiled code was made for what that test says.
[[nodiscard]] bool is_channels_last(Sizes sizes, Sizes strides) noexcept {
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

[[nodiscard]] bool is_channels_last(const Tensor& tensor) noexcept {
  if (tensor.rank > 3) return is_channels_last(tensor.shape(), tensor.step());
  // One spatial dimension is looked at as two, the first with one element.
  const auto& z = tensor.sizes;
  const auto& s = tensor.strides;
  const std::int64_t sizes[] = {z[0], z[1], 1, z[2]};
  const std::int64_t strides[] = {s[0], s[1], z[2] * s[2], s[2]};
  return is_channels_last(sizes, strides);
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

/// Whether `strides` say the same as the tensor's for dimensions of more than one element.
[[nodiscard]] bool lies_as(const Tensor& tensor, const Dims& strides) noexcept {
  for (std::size_t d = 0; d < static_cast<std::size_t>(tensor.rank); ++d) {
    if (tensor.sizes[d] > 1 && tensor.strides[d] != strides[d]) return false;
  }
  return true;
}

Status check_arguments(const Convolution& c) {
  const Tensor& x = c.input;
  const Tensor& w = c.weight;
  const auto spatial = c.spatial;
  if (spatial < 1 || spatial > 3 || x.rank != w.rank) {
    return error(Error::InvalidArgument, "an input ", shape_text(x.shape()), " and a weight ",
                 shape_text(w.shape()), ": expected 1 to 3 spatial dimensions of both");
  }
  if (x.scalar_type != w.scalar_type ||
      (x.scalar_type != ScalarType::Float && x.scalar_type != ScalarType::BFloat16)) {
    return error(Error::NotSupported, "an input of ", name_of(x.scalar_type), " and a weight of ",
                 name_of(w.scalar_type), ": expected both Float or both BFloat16");
  }
  for (const auto& list : {c.stride, c.padding, c.dilation, c.output_padding}) {
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
  if (c.bias && (c.bias->rank != 1 || c.bias->sizes[0] != outputs ||
                 c.bias->scalar_type != x.scalar_type)) {
    return error(Error::InvalidArgument, "a bias ", shape_text(c.bias->shape()), " of ",
                 name_of(c.bias->scalar_type), ": expected [", outputs, "] of ",
                 name_of(x.scalar_type));
  }
  if (channels == 0) {
    return error(Error::NotSupported, "an input ", shape_text(x.shape()),
                 ": expected at least one channel");
  }
  return ok();
}

/// Sizes of the result; fails when one would not be positive.
Status output_sizes(const Convolution& c, Dims& sizes) {
  sizes[0] = c.input.sizes[0];
  sizes[1] = c.transposed ? c.weight.sizes[1] * c.groups : c.weight.sizes[0];
  for (std::size_t d = 0; d < c.spatial; ++d) {
    const std::int64_t in = c.input.sizes[d + 2];
    const std::int64_t reach = c.dilation[d] * (c.weight.sizes[d + 2] - 1) + 1;
    if (c.stride[d] < 1 || c.dilation[d] < 1 || c.padding[d] < 0 || c.output_padding[d] < 0) {
      return error(Error::InvalidArgument, "stride ", c.stride[d], ", dilation ", c.dilation[d],
                   ", padding ", c.padding[d], ", output padding ", c.output_padding[d],
                   ": expected the first two positive, the others not negative");
    }
    const std::int64_t padded = in + 2 * c.padding[d];
    const std::int64_t out = c.transposed ? (in - 1) * c.stride[d] - 2 * c.padding[d] + reach +
                                                c.output_padding[d]
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

/// Brings one argument into the format that the convolution wants.
struct Reorder {
  Bound bound;
  std::int64_t nbytes = 0;
};

/// The primitives of one convolution.
struct Plan {
  Bound convolution;
  std::optional<Reorder> input, weight, output;
};

using Desc = dnnl_memory_desc_t;

Status make_reorder(const Desc& from, const Desc& to, const Desc& between,
                    std::optional<Reorder>& out) {
  if (dnnl_memory_desc_equal(&from, &to)) return ok();
  TENON_TRY(const Attributes attributes, new_attributes());
  dnnl_primitive_desc_t desc = nullptr;
  TENON_CHECK(check(dnnl_reorder_primitive_desc_create(&desc, &from, engine(), &to, engine(),
                                                       attributes.get()),
                    "changing a format"));
  const PrimitiveDesc owned(desc);
  static constexpr int arguments[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
  out.emplace();
  out->nbytes = static_cast<std::int64_t>(dnnl_memory_desc_get_size(&between));
  return out->bound.make(desc, arguments);
}

Result<Desc> any_desc(Sizes sizes, dnnl_data_type_t type) {
  Desc desc;
  TENON_CHECK(check(dnnl_memory_desc_init_by_tag(&desc, static_cast<int>(sizes.size()),
                                                 sizes.data(), type, dnnl_format_tag_any),
                    "describing a format"));
  return desc;
}

/// The weight as oneDNN looks at it: groups, output channels, input channels, kernel.
Result<Desc> weight_desc(const Convolution& c) {
  const Tensor& w = c.weight;
  Dims sizes{};
  Dims strides{};
  const std::size_t first = c.groups > 1 ? 1 : 0;
  const std::int64_t rows = w.sizes[0] / c.groups;
  if (c.groups > 1) {
    sizes[0] = c.groups;
    strides[0] = rows * w.strides[0];
  }
  const std::size_t outputs = first + (c.transposed ? 1 : 0);
  const std::size_t inputs = first + (c.transposed ? 0 : 1);
  sizes[outputs] = rows;
  strides[outputs] = w.strides[0];
  sizes[inputs] = w.sizes[1];
  strides[inputs] = w.strides[1];
  for (std::size_t d = 0; d < c.spatial; ++d) {
    sizes[first + 2 + d] = w.sizes[2 + d];
    strides[first + 2 + d] = w.strides[2 + d];
  }
  return strided_desc(Sizes(sizes).first(first + 2 + c.spatial), strides.data(),
                      data_type(w.scalar_type));
}

Status make_plan(const Convolution& c, const Tensor& out, bool channels_last, Plan& plan) {
  const auto type = data_type(c.input.scalar_type);
  TENON_TRY(const Desc input, strided_desc(c.input.shape(), c.input.strides.data(), type));
  TENON_TRY(const Desc output, strided_desc(out.shape(), out.strides.data(), type));
  TENON_TRY(const Desc weight, weight_desc(c));
  // Channels-last data stays as it is: what comes before and after wants it so. Else oneDNN
  // chooses, and it is worth two reorders.
  TENON_TRY(Desc wanted_input, any_desc(c.input.shape(), type));
  TENON_TRY(Desc wanted_output, any_desc(out.shape(), type));
  if (channels_last) {
    const Dims strides = channels_last_strides(c.input.shape());
    TENON_TRY(wanted_input, strided_desc(c.input.shape(), strides.data(), type));
    wanted_output = output;
  }
  TENON_TRY(const Desc wanted_weight,
            any_desc(Sizes(weight.dims, static_cast<std::size_t>(weight.ndims)), type));
  std::optional<Desc> bias;
  if (c.bias) {
    const std::int64_t one = 1;
    TENON_TRY(bias, strided_desc(c.bias->shape(), &one, type));
  }
  const Desc* bias_desc = bias ? &*bias : nullptr;
  Dims dilation{};
  Dims after{};
  for (std::size_t d = 0; d < c.spatial; ++d) {
    dilation[d] = c.dilation[d] - 1;
    // What oneDNN calls padding on the right makes its own formula give our size.
    const std::int64_t reach = c.dilation[d] * (c.weight.sizes[d + 2] - 1) + 1;
    const std::int64_t in = c.transposed ? out.sizes[d + 2] : c.input.sizes[d + 2];
    const std::int64_t steps = (c.transposed ? c.input.sizes[d + 2] : out.sizes[d + 2]) - 1;
    after[d] = steps * c.stride[d] + reach - in - c.padding[d];
  }
  TENON_TRY(const Attributes attributes, new_attributes());
  dnnl_convolution_desc_t description;  // The type of both operations.
  TENON_CHECK(check(
      c.transposed
          ? dnnl_dilated_deconvolution_forward_desc_init(
                &description, dnnl_forward_inference, dnnl_deconvolution_direct, &wanted_input,
                &wanted_weight, bias_desc, &wanted_output, c.stride.data(), dilation.data(),
                c.padding.data(), after.data())
          : dnnl_dilated_convolution_forward_desc_init(
                &description, dnnl_forward_inference, dnnl_convolution_direct, &wanted_input,
                &wanted_weight, bias_desc, &wanted_output, c.stride.data(), dilation.data(),
                c.padding.data(), after.data()),
      "describing a convolution"));
  dnnl_primitive_desc_t desc = nullptr;
  TENON_CHECK(check(
      dnnl_primitive_desc_create(&desc, &description, attributes.get(), engine(), nullptr),
      "choosing a convolution"));
  const PrimitiveDesc owned(desc);
  static constexpr int arguments[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS};
  TENON_CHECK(plan.convolution.make(desc, std::span(arguments).first(c.bias ? 4 : 3)));
  const Desc& chosen_input = plan.convolution.desc(DNNL_ARG_SRC);
  const Desc& chosen_weight = plan.convolution.desc(DNNL_ARG_WEIGHTS);
  const Desc& chosen_output = plan.convolution.desc(DNNL_ARG_DST);
  TENON_CHECK(make_reorder(input, chosen_input, chosen_input, plan.input));
  TENON_CHECK(make_reorder(weight, chosen_weight, chosen_weight, plan.weight));
  return make_reorder(chosen_output, output, chosen_output, plan.output);
}

/// Data in the format of the convolution: `data` itself, or a copy in `scratch`.
Result<std::byte*> reordered(std::optional<Reorder>& reorder, std::byte* data,
                             std::optional<Scratch>& scratch) {
  if (!reorder) return data;
  TENON_TRY(scratch, Scratch::of(reorder->nbytes));
  TENON_CHECK(reorder->bound.set(DNNL_ARG_FROM, data));
  TENON_CHECK(reorder->bound.set(DNNL_ARG_TO, scratch->as<void>()));
  TENON_CHECK(reorder->bound.run());
  return scratch->as<std::byte>();
}

Status run_plan(Plan& plan, const Convolution& c, const Tensor& out) {
  std::optional<Scratch> input_copy, weight_copy, output_copy;
  TENON_TRY(std::byte* const input, reordered(plan.input, c.input.data, input_copy));
  TENON_TRY(std::byte* const weight, reordered(plan.weight, c.weight.data, weight_copy));
  std::byte* output = out.data;
  if (plan.output) {
    TENON_TRY(output_copy, Scratch::of(plan.output->nbytes));
    output = output_copy->as<std::byte>();
  }
  Bound& convolution = plan.convolution;
  TENON_CHECK(convolution.set(DNNL_ARG_SRC, input));
  TENON_CHECK(convolution.set(DNNL_ARG_WEIGHTS, weight));
  TENON_CHECK(convolution.set(DNNL_ARG_DST, output));
  if (c.bias) TENON_CHECK(convolution.set(DNNL_ARG_BIAS, c.bias->data));
  TENON_CHECK(convolution.run());
  if (!plan.output) return ok();
  TENON_CHECK(plan.output->bound.set(DNNL_ARG_FROM, output));
  TENON_CHECK(plan.output->bound.set(DNNL_ARG_TO, out.data));
  return plan.output->bound.run();
}

/// A contiguous copy, for strides that oneDNN does not take (gaps are fine, overlaps are not).
Status make_plain(Tensor& tensor, std::optional<OwnedTensor>& copy) {
  if (is_dense(tensor)) {
    Dims strides{};
    aoti::contiguous_strides(tensor.shape(), std::span(strides).first(tensor.shape().size()));
    // One spelling for dimensions of one element, so that equal formats look equal.
    const Dims last = channels_last_strides(tensor.shape());
    if (lies_as(tensor, strides)) {
      tensor.strides = strides;
    } else if (lies_as(tensor, last)) {
      tensor.strides = last;
    }
    return ok();
  }
  TENON_TRY(copy, new_tensor(tensor.shape(), nullptr, tensor.scalar_type));
  copy_strided(tensor.shape(), size_of(tensor.scalar_type),
               {(*copy)->data, (*copy)->strides.data()}, {tensor.data, tensor.strides.data()});
  tensor = **copy;
  return ok();
}

Status convolve(Convolution& c, Tensor** result) {
  TENON_CHECK(check_arguments(c));
  Dims sizes{};
  TENON_CHECK(output_sizes(c, sizes));
  const Sizes shape = Sizes(sizes).first(c.spatial + 2);
  // With one spatial dimension the input's order does not count: PyTorch makes it contiguous.
  const bool channels_last =
      is_channels_last(c.weight) || (c.spatial > 1 && is_channels_last(c.input));
  const Dims strides = channels_last_strides(shape);
  TENON_TRY(OwnedTensor out,
            new_tensor(shape, channels_last ? strides.data() : nullptr, c.input.scalar_type));
  if (out->numel > 0) {
    std::optional<OwnedTensor> input, weight, bias;
    TENON_CHECK(make_plain(c.input, input));
    TENON_CHECK(make_plain(c.weight, weight));
    Tensor plain_bias;
    if (c.bias) {
      plain_bias = *c.bias;
      if (!plain_bias.is_contiguous()) TENON_CHECK(make_plain(plain_bias, bias));
      c.bias = &plain_bias;
    }
    Key key;
    for (const std::int64_t value :
         {static_cast<std::int64_t>(c.input.scalar_type), static_cast<std::int64_t>(c.spatial),
          c.groups, std::int64_t{c.transposed}, std::int64_t{channels_last},
          std::int64_t{c.bias != nullptr}}) {
      key.add(value);
    }
    for (const Sizes list : {c.input.shape(), c.input.step(), c.weight.shape(), c.weight.step(),
                             c.stride, c.padding, c.dilation, c.output_padding}) {
      key.add(list);
    }
    static Cache<Plan> cache;
    TENON_TRY(auto plan, cache.lend(key, [&](Plan& made) {
      return make_plan(c, *out, channels_last, made);
    }));
    TENON_CHECK(run_plan(*plan, c, *out));
  }
  *result = out.hand_over();
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu_convolution(Tensor* input, Tensor* weight, Tensor** bias,
                                     const std::int64_t* stride, std::int64_t stride_len,
                                     const std::int64_t* padding, std::int64_t padding_len,
                                     const std::int64_t* dilation, std::int64_t dilation_len,
                                     std::int32_t transposed, const std::int64_t* output_padding,
                                     std::int64_t output_padding_len, std::int64_t groups,
                                     Tensor** ret0) noexcept {
  return shim_call("convolution", [&]() -> Status {
    const auto list = [](const std::int64_t* values, std::int64_t count) {
      return Sizes(values, static_cast<std::size_t>(count));
    };
    Convolution c{*input,
                  *weight,
                  bias ? *bias : nullptr,
                  static_cast<std::size_t>(weight->rank - 2),
                  list(stride, stride_len),
                  list(padding, padding_len),
                  list(dilation, dilation_len),
                  list(output_padding, output_padding_len),
                  transposed != 0,
                  groups};
    const bool batched = input->rank != weight->rank - 1;
    if (!batched) {  // One image: a batch of one.
      c.input.rank = weight->rank;
      std::copy_n(input->sizes.begin(), input->rank, c.input.sizes.begin() + 1);
      std::copy_n(input->strides.begin(), input->rank, c.input.strides.begin() + 1);
      c.input.sizes[0] = 1;
      c.input.strides[0] = input->rank > 0 ? input->sizes[0] * input->strides[0] : 1;
    }
    TENON_CHECK(convolve(c, ret0));
    if (!batched) {
      Tensor& out = **ret0;
      std::copy_n(out.sizes.begin() + 1, --out.rank, out.sizes.begin());
      std::copy_n(out.strides.begin() + 1, out.rank, out.strides.begin());
    }
    return ok();
  });
}

}  // namespace tenon::cpu_aoti
