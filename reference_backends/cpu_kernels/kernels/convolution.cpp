// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "common/convolution_shape.hpp"
#include "kernels/elements.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/vectors/vector_level.hpp"
#include "onednn/onednn.hpp"
#include "onednn/packed_weights.hpp"
#include "onednn/primitive_desc.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;
using namespace aoti_common;
using namespace onednn;

/// The primitives of one convolution.
struct Plan {
  Bound convolution;
  std::optional<Reorder> input, output;  ///< Where the formats of the tensors differ.
  PackedForms weights;
};

Status make_reorder(const Format& from, const Format& to, std::optional<Reorder>& out) {
  if (from == to) return ok();
  return out.emplace().make(from, to);
}

Result<Format> any_format(Sizes sizes, dnnl_data_type_t type) {
  return Format::with_tag(sizes, type, dnnl_format_tag_any);
}

/// The weight in oneDNN's order: groups, output channels, input channels, kernel.
struct Weight {
  Dims sizes{}, strides{};
  std::size_t rank = 0;

  [[nodiscard]] Sizes shape() const noexcept { return Sizes(sizes).first(rank); }
};

[[nodiscard]] Weight weight_of(const Convolution& c) noexcept {
  const ModelTensor& w = c.weight;
  Weight out;
  const std::size_t first = c.groups > 1 ? 1 : 0;
  const std::int64_t rows = w.sizes[0] / c.groups;
  if (c.groups > 1) {
    out.sizes[0] = c.groups;
    out.strides[0] = rows * w.strides[0];
  }
  const std::size_t outputs = first + (c.transposed ? 1 : 0);
  const std::size_t inputs = first + (c.transposed ? 0 : 1);
  out.sizes[outputs] = rows;
  out.strides[outputs] = w.strides[0];
  out.sizes[inputs] = w.sizes[1];
  out.strides[inputs] = w.strides[1];
  for (std::size_t d = 0; d < c.spatial; ++d) {
    out.sizes[first + 2 + d] = w.sizes[2 + d];
    out.strides[first + 2 + d] = w.strides[2 + d];
  }
  out.rank = first + 2 + c.spatial;
  return out;
}

Status make_plan(const Convolution& c, const ModelTensor& out, bool channels_last, Plan& plan) {
  const auto type = data_type(c.input.scalar_type);
  TENON_TRY(const Format input,
            Format::with_strides(c.input.shape(), c.input.strides.data(), type));
  TENON_TRY(const Format output, Format::with_strides(out.shape(), out.strides.data(), type));
  const Weight w = weight_of(c);
  TENON_TRY(const Format weight,
            Format::with_strides(w.shape(), w.strides.data(), data_type(c.weight.scalar_type)));
  // Channels-last data keeps its order, which the operators around it expect. Else oneDNN chooses,
  // which is worth two reorders.
  TENON_TRY(Format wanted_input, any_format(c.input.shape(), type));
  TENON_TRY(Format wanted_output, any_format(out.shape(), type));
  if (channels_last) {
    const Dims strides = channels_last_strides(c.input.shape());
    TENON_TRY(wanted_input, Format::with_strides(c.input.shape(), strides.data(), type));
    wanted_output = output;
  }
  TENON_TRY(const Format wanted_weight, any_format(w.shape(), type));
  std::optional<Format> bias;
  if (c.bias) {
    const std::int64_t one = 1;
    TENON_TRY(bias, Format::with_strides(c.bias->shape(), &one, type));
  }
  Dims dilation{};
  Dims after{};
  for (std::size_t d = 0; d < c.spatial; ++d) {
    dilation[d] = c.dilation[d] - 1;
    // The padding on the right for which oneDNN's formula yields this output size.
    const std::int64_t reach = c.dilation[d] * (c.weight.sizes[d + 2] - 1) + 1;
    const std::int64_t in = c.transposed ? out.sizes[d + 2] : c.input.sizes[d + 2];
    const std::int64_t steps = (c.transposed ? c.input.sizes[d + 2] : out.sizes[d + 2]) - 1;
    after[d] = steps * c.stride[d] + reach - in - c.padding[d];
  }
  TENON_TRY(const PrimitiveDesc desc,
            onednn::convolution({c.transposed, wanted_input, wanted_weight, bias ? &*bias : nullptr,
                                 wanted_output, c.stride.data(), dilation.data(), c.padding.data(),
                                 after.data()}));
  static constexpr int arguments[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS};
  TENON_RETURN_IF_ERROR(plan.convolution.make(desc, std::span(arguments).first(c.bias ? 4 : 3)));
  plan.weights.set_formats(weight, plan.convolution.format(DNNL_ARG_WEIGHTS));
  TENON_RETURN_IF_ERROR(make_reorder(input, plan.convolution.format(DNNL_ARG_SRC), plan.input));
  return make_reorder(plan.convolution.format(DNNL_ARG_DST), output, plan.output);
}

Status run_plan(Plan& plan, const Convolution& c, const ModelTensor& out) {
  std::optional<Scratch> input_copy, weight_copy, output_copy;
  std::byte* input = c.input.data;
  if (plan.input) {
    TENON_TRY(input_copy, Scratch::of(plan.input->to_nbytes()));
    input = input_copy->as<std::byte>();
    TENON_RETURN_IF_ERROR(plan.input->run(c.input.data, input));
  }
  TENON_TRY(std::byte* const weight,
            plan.weights.get_or_copy(c.weight.data, c.weight.storage->is_fixed, weight_copy));
  std::byte* output = out.data;
  if (plan.output) {
    TENON_TRY(output_copy, Scratch::of(plan.output->from_nbytes()));
    output = output_copy->as<std::byte>();
  }
  Bound& convolution = plan.convolution;
  TENON_RETURN_IF_ERROR(convolution.set(DNNL_ARG_SRC, input));
  TENON_RETURN_IF_ERROR(convolution.set(DNNL_ARG_WEIGHTS, weight));
  TENON_RETURN_IF_ERROR(convolution.set(DNNL_ARG_DST, output));
  if (c.bias) TENON_RETURN_IF_ERROR(convolution.set(DNNL_ARG_BIAS, c.bias->data));
  TENON_RETURN_IF_ERROR(convolution.run());
  return plan.output ? plan.output->run(output, out.data) : ok();
}

/// True when `strides` are the tensor's in all dimensions of more than one element.
[[nodiscard]] bool has_strides(const ModelTensor& tensor, const Dims& strides) noexcept {
  for (std::size_t d = 0; d < static_cast<std::size_t>(tensor.rank); ++d) {
    if (tensor.sizes[d] > 1 && tensor.strides[d] != strides[d]) return false;
  }
  return true;
}

/// Sets the strides of `tensor` to the contiguous or channels-last ones where dimensions of one
/// element leave a choice, so that equal formats compare equal.
void normalise_strides(ModelTensor& tensor) noexcept {
  Dims plain{};
  aoti::contiguous_strides(tensor.shape(), std::span(plain).first(tensor.shape().size()));
  const Dims last = channels_last_strides(tensor.shape());
  if (has_strides(tensor, plain)) {
    tensor.strides = plain;
  } else if (has_strides(tensor, last)) {
    tensor.strides = last;
  }
}

/// Replaces a tensor with gaps or overlaps by a contiguous copy: oneDNN supports only some of them.
Status make_plain(ModelTensor& tensor, std::optional<OwnedTensor>& copy) {
  if (is_dense(tensor)) {
    normalise_strides(tensor);
    return ok();
  }
  TENON_TRY(copy, new_tensor(tensor.shape(), nullptr, tensor.scalar_type));
  copy_strided(tensor.shape(), size_of(tensor.scalar_type),
               {(*copy)->data, (*copy)->strides.data()}, {tensor.data, tensor.strides.data()});
  tensor = **copy;
  return ok();
}

/// One spatial dimension of a convolution by loops: position `at` of the output meets position
/// `at * stride - padding + k * dilation` of the input, and the reverse when transposed.
struct Loop {
  std::int64_t count = 1, limit = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  std::int64_t step = 0, met_step = 0, weight_step = 0;  ///< In elements.

  /// The place that `at` meets; below 0 when it is outside.
  [[nodiscard]] std::int64_t meets(std::int64_t at, std::int64_t k) const noexcept {
    const std::int64_t place = at * stride - padding + k * dilation;
    return place < limit ? place : -1;
  }
};

/// Dimension `d` of the spatial ones: `own` is the output and `met` the input, the reverse when
/// transposed.
[[nodiscard]] Loop loop_of(const Convolution& c, const ModelTensor& own, const ModelTensor& met,
                           std::size_t d) noexcept {
  return {own.sizes[2 + d],   met.sizes[2 + d],   c.weight.sizes[2 + d],
          c.stride[d],        c.padding[d],       c.dilation[d],
          own.strides[2 + d], met.strides[2 + d], c.weight.strides[2 + d]};
}

/// Leaves out the first and the last places of the kernel that meet padding alone, as most do where
/// the dilation is larger than the image: what remains is a part of the weight. `padding` is the
/// memory of the padding then.
void leave_out_padding(Convolution& c, const ModelTensor& out, Dims& padding) noexcept {
  if (c.transposed) return;
  std::copy(c.padding.begin(), c.padding.end(), padding.begin());
  for (std::size_t d = 0; d < c.spatial; ++d) {
    const Loop loop = loop_of(c, out, c.input, d);
    const auto meets_input = [&](std::int64_t k) {
      for (std::int64_t at = 0; at < loop.count; ++at) {
        if (loop.meets(at, k) >= 0) return true;
      }
      return false;
    };
    std::int64_t first = 0, last = loop.kernel - 1;
    while (first < last && !meets_input(first)) ++first;
    while (last > first && !meets_input(last)) --last;
    const std::int64_t before = loop.padding - first * loop.dilation;
    if (before < 0) continue;  // oneDNN skips no elements of an input.
    padding[d] = before;
    c.weight.data +=
        first * loop.weight_step * static_cast<std::int64_t>(size_of(c.weight.scalar_type));
    c.weight.sizes[d + 2] = last - first + 1;
  }
  c.padding = Sizes(padding).first(c.spatial);
}

/// Computes a convolution whose arguments are checked and whose output is not empty. `c` is its
/// own, as it is made to refer to copies that end with it.
Status run(Convolution c, ModelTensor& out, bool channels_last) {
  std::optional<OwnedTensor> input, weight, bias;
  TENON_RETURN_IF_ERROR(make_plain(c.input, input));
  TENON_RETURN_IF_ERROR(make_plain(c.weight, weight));
  ModelTensor plain_bias;
  if (c.bias) {
    plain_bias = *c.bias;
    if (!plain_bias.is_contiguous()) TENON_RETURN_IF_ERROR(make_plain(plain_bias, bias));
    c.bias = &plain_bias;
  }
  Dims padding{};
  leave_out_padding(c, out, padding);
  Key key{static_cast<std::int64_t>(c.input.scalar_type),
          static_cast<std::int64_t>(c.spatial),
          c.groups,
          std::int64_t{c.transposed},
          std::int64_t{channels_last},
          std::int64_t{c.bias != nullptr}};
  for (const Sizes list : {c.input.shape(), c.input.step(), c.weight.shape(), c.weight.step(),
                           c.stride, c.padding, c.dilation, c.output_padding}) {
    key.add(list);
  }
  auto& plans = aoti::current_pool().cache<Cache<Plan>>();
  TENON_TRY(Plan* const plan,
            plans.get(key, [&](Plan& made) { return make_plan(c, out, channels_last, made); }));
  return run_plan(*plan, c, out);
}

/// oneDNN has BFloat16 convolutions only for CPUs with AVX-512.
[[nodiscard]] bool has_bfloat16_convolutions() { return vector_level() >= VectorLevel::avx512; }

/// Replaces a tensor by a contiguous copy of Float.
Status make_float(ModelTensor& tensor, std::optional<OwnedTensor>& copy) {
  TENON_TRY(copy, new_tensor(tensor.shape(), nullptr, ScalarType::Float));
  to_floats(tensor.shape(), tensor.scalar_type, {tensor.data, tensor.strides.data()},
            reinterpret_cast<float*>((*copy)->data));
  tensor = **copy;
  return ok();
}

/// Runs a convolution in Float and rounds at the end: for Half, and for CPUs without BFloat16
/// convolutions.
Status run_as_float(Convolution c, ModelTensor& out) {
  std::optional<OwnedTensor> input, weight, bias;
  TENON_RETURN_IF_ERROR(make_float(c.input, input));
  TENON_RETURN_IF_ERROR(make_float(c.weight, weight));
  ModelTensor float_bias;
  if (c.bias) {
    float_bias = *c.bias;
    TENON_RETURN_IF_ERROR(make_float(float_bias, bias));
    c.bias = &float_bias;
  }
  TENON_TRY(OwnedTensor result, new_tensor(out.shape(), nullptr, ScalarType::Float));
  TENON_RETURN_IF_ERROR(run(c, *result, false));
  from_floats(out.shape(), out.scalar_type, reinterpret_cast<const float*>(result->data),
              {out.data, out.strides.data()});
  return ok();
}

/// Adds the products of one channel of an image with a kernel to one channel of the result.
void add_products(const std::array<Loop, 3>& loops, const double* weight, const double* from,
                  double* to, bool transposed) noexcept {
  const auto& [z, y, x] = loops;
  for (std::int64_t kz = 0; kz < z.kernel; ++kz) {
    for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
      for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
        const double w = weight[kz * z.weight_step + ky * y.weight_step + kx * x.weight_step];
        for (std::int64_t d = 0; d < z.count; ++d) {
          const std::int64_t met_d = z.meets(d, kz);
          for (std::int64_t h = 0; met_d >= 0 && h < y.count; ++h) {
            const std::int64_t met_h = y.meets(h, ky);
            for (std::int64_t i = 0; met_h >= 0 && i < x.count; ++i) {
              const std::int64_t met = x.meets(i, kx);
              if (met < 0) continue;
              const std::int64_t own = d * z.step + h * y.step + i * x.step;
              const std::int64_t other = met_d * z.met_step + met_h * y.met_step + met * x.met_step;
              to[transposed ? other : own] += w * from[transposed ? own : other];
            }
          }
        }
      }
    }
  }
}

/// A convolution of Double, which oneDNN does not have.
Status run_double(const Convolution& c, ModelTensor& out) {
  const CancelFlag cancelled = aoti::cancel_flag();
  const ModelTensor& own = c.transposed ? c.input : out;
  const ModelTensor& met = c.transposed ? out : c.input;
  std::array<Loop, 3> loops;
  for (std::size_t d = 0; d < c.spatial; ++d) {
    loops[3 - c.spatial + d] = loop_of(c, own, met, d);
  }
  const std::int64_t outputs = out.sizes[1] / c.groups, inputs = c.input.sizes[1] / c.groups;
  const auto& steps = c.weight.strides;
  for (std::int64_t n = 0; n < out.sizes[0]; ++n) {
    for (std::int64_t o = 0; o < out.sizes[1]; ++o) {
      double* const to = out.as<double>() + n * out.strides[0] + o * out.strides[1];
      const double start = c.bias ? c.bias->as<const double>()[o * c.bias->strides[0]] : 0;
      for_positions<1>(out.shape().subspan(2), no_dim, {out.strides.data() + 2},
                       [&](const auto& at) { to[at[0]] = start; });
      for (std::int64_t i = 0; i < inputs; ++i) {
        TENON_RETURN_IF_ERROR(cancelled.check());
        const std::int64_t in = o / outputs * inputs + i;
        const std::int64_t kernel =
            c.transposed ? in * steps[0] + o % outputs * steps[1] : o * steps[0] + i * steps[1];
        const auto* const from =
            c.input.as<const double>() + n * c.input.strides[0] + in * c.input.strides[1];
        add_products(loops, c.weight.as<const double>() + kernel, from, to, c.transposed);
      }
    }
  }
  return ok();
}

Status convolve(const Convolution& c, ModelTensor** result) {
  const ScalarType type = c.input.scalar_type;
  constexpr ScalarType types[] = {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16,
                                  ScalarType::Half};
  if (type != c.weight.scalar_type || std::ranges::find(types, type) == std::end(types)) {
    return error(Error::NotSupported, "an input of ", name_of(type), " and a weight of ",
                 name_of(c.weight.scalar_type), ": expected both Float, Double, BFloat16 or Half");
  }
  TENON_RETURN_IF_ERROR(check_arguments(c));
  if (c.input.sizes[1] == 0) {
    return error(Error::NotSupported, "an input ", shape_text(c.input.shape()),
                 ": expected at least one channel");
  }
  Dims sizes{};
  TENON_RETURN_IF_ERROR(output_sizes(c, sizes));
  const Sizes shape = Sizes(sizes).first(c.spatial + 2);
  // With one spatial dimension PyTorch makes the input contiguous, whatever its order.
  const bool channels_last =
      is_channels_last(c.weight) || (c.spatial > 1 && is_channels_last(c.input));
  const Dims strides = channels_last_strides(shape);
  TENON_TRY(OwnedTensor out,
            new_tensor(shape, channels_last ? strides.data() : nullptr, c.input.scalar_type));
  if (type == ScalarType::Double) {
    TENON_RETURN_IF_ERROR(run_double(c, *out));
  } else if (out->numel > 0) {
    const bool as_float =
        type == ScalarType::Half || (type == ScalarType::BFloat16 && !has_bfloat16_convolutions());
    TENON_RETURN_IF_ERROR(as_float ? run_as_float(c, *out) : run(c, *out, channels_last));
  }
  *result = out.take();
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu_convolution(ModelTensor* input, ModelTensor* weight, ModelTensor** bias,
                                     const std::int64_t* stride, std::int64_t stride_len,
                                     const std::int64_t* padding, std::int64_t padding_len,
                                     const std::int64_t* dilation, std::int64_t dilation_len,
                                     std::int32_t transposed, const std::int64_t* output_padding,
                                     std::int64_t output_padding_len, std::int64_t groups,
                                     ModelTensor** ret0) noexcept {
  return shim_call("convolution", [&]() -> Status {
    Convolution c =
        make_convolution(*input, *weight, bias, stride, stride_len, padding, padding_len, dilation,
                         dilation_len, transposed, output_padding, output_padding_len, groups);
    const bool batched = input->rank != weight->rank - 1;
    if (!batched) {  // One image: a batch of one.
      c.input.rank = weight->rank;
      std::copy_n(input->sizes.begin(), input->rank, c.input.sizes.begin() + 1);
      std::copy_n(input->strides.begin(), input->rank, c.input.strides.begin() + 1);
      c.input.sizes[0] = 1;
      c.input.strides[0] = 1;  // Past all elements, where the next image would begin.
      for (std::size_t d = 1; d < static_cast<std::size_t>(weight->rank); ++d) {
        c.input.strides[0] = std::max(c.input.strides[0], c.input.sizes[d] * c.input.strides[d]);
      }
    }
    TENON_RETURN_IF_ERROR(convolve(c, ret0));
    if (!batched) {
      ModelTensor& out = **ret0;
      std::copy_n(out.sizes.begin() + 1, --out.rank, out.sizes.begin());
      std::copy_n(out.strides.begin() + 1, out.rank, out.strides.begin());
    }
    return ok();
  });
}

}  // namespace tenon::cpu_aoti
