// SPDX-License-Identifier: MIT
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>

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
using namespace onednn;

constexpr std::int64_t lstm_mode = 2;  // Of PyTorch's mkldnn_rnn_layer; 3 is a GRU.

/// The arguments of one layer in one direction.
struct Lstm {
  const ModelTensor& input;     ///< [T, B, I]
  const ModelTensor& w_input;   ///< [4 H, I]; gates in the order i, f, g, o.
  const ModelTensor& w_hidden;  ///< [4 H, H]
  const ModelTensor* bias[2];   ///< [4 H] each, or null.
  const ModelTensor& hidden;    ///< [B, H], or [1, B, H].
  const ModelTensor& cell;
  bool reverse;
  std::int64_t size;  ///< H

  [[nodiscard]] std::int64_t steps() const noexcept { return input.sizes[0]; }
  [[nodiscard]] std::int64_t batch() const noexcept { return input.sizes[1]; }
};

[[nodiscard]] bool has_shape(const ModelTensor& tensor, std::initializer_list<std::int64_t> sizes) {
  return std::equal(sizes.begin(), sizes.end(), tensor.shape().begin(), tensor.shape().end());
}

Status check_arguments(const Lstm& l) {
  const std::int64_t gates = 4 * l.size;
  if (l.input.rank != 3 || l.input.sizes[2] == 0 || l.size <= 0) {
    return error(Error::InvalidArgument, "an input ", shape_text(l.input.shape()),
                 " and a hidden size ", l.size,
                 ": expected 3 dimensions, at least one feature, and a positive size");
  }
  const auto refuse = [](const char* what, const ModelTensor& found, const std::string& wanted) {
    return error(Error::InvalidArgument, what, " ", shape_text(found.shape()), ": expected ",
                 wanted);
  };
  const std::int64_t input_weight[] = {gates, l.input.sizes[2]};
  const std::int64_t hidden_weight[] = {gates, l.size};
  const std::int64_t state[] = {l.batch(), l.size};
  if (!has_shape(l.w_input, {gates, l.input.sizes[2]})) {
    return refuse("an input weight", l.w_input, shape_text(input_weight));
  }
  if (!has_shape(l.w_hidden, {gates, l.size})) {
    return refuse("a hidden weight", l.w_hidden, shape_text(hidden_weight));
  }
  for (const ModelTensor* tensor : {&l.hidden, &l.cell}) {
    if (!has_shape(*tensor, {l.batch(), l.size}) && !has_shape(*tensor, {1, l.batch(), l.size})) {
      return refuse("a state", *tensor, shape_text(state));
    }
  }
  for (const ModelTensor* bias : l.bias) {
    if (bias && !has_shape(*bias, {gates})) {
      return refuse("a bias", *bias, shape_text(Sizes(&gates, 1)));
    }
  }
  for (const ModelTensor* tensor :
       {&l.w_input, &l.w_hidden, &l.hidden, &l.cell, l.bias[0], l.bias[1]}) {
    if (tensor && tensor->scalar_type != l.input.scalar_type) {
      return error(Error::InvalidType, "an argument of ", name_of(tensor->scalar_type),
                   ": expected the type of the input, ", name_of(l.input.scalar_type));
    }
  }
  const ScalarType type = l.input.scalar_type;
  if (type == ScalarType::Float || type == ScalarType::BFloat16 || type == ScalarType::Half) {
    return ok();
  }
  return error(Error::NotSupported, "an LSTM of ", name_of(type),
               ": expected Float, BFloat16 or Half");
}

/// The primitive of a layer, and the weights that it reads.
struct Plan {
  Bound lstm;
  PackedForms w_input, w_hidden;
};

/// `type` is the type of everything but the cells and the bias, which are Float.
Status make_plan(const Lstm& l, ScalarType type, Plan& plan) {
  const std::int64_t inputs = l.input.sizes[2];
  const std::int64_t input_sizes[] = {l.steps(), l.batch(), inputs};
  const std::int64_t output_sizes[] = {l.steps(), l.batch(), l.size};
  const std::int64_t state_sizes[] = {1, 1, l.batch(),
                                      l.size};  // Layers and directions come first.
  const std::int64_t w_input_sizes[] = {1, 1, inputs, 4, l.size};
  const std::int64_t w_hidden_sizes[] = {1, 1, l.size, 4, l.size};
  const std::int64_t bias_sizes[] = {1, 1, 4, l.size};
  const auto element = data_type(type);
  TENON_TRY(const auto input, Format::with_tag(input_sizes, element, dnnl_tnc));
  TENON_TRY(const auto output, Format::with_tag(output_sizes, element, dnnl_tnc));
  TENON_TRY(const auto hidden, Format::with_tag(state_sizes, element, dnnl_ldnc));
  TENON_TRY(const auto cell, Format::with_tag(state_sizes, dnnl_f32, dnnl_ldnc));
  TENON_TRY(const auto w_input, Format::with_tag(w_input_sizes, element, dnnl_format_tag_any));
  TENON_TRY(const auto w_hidden, Format::with_tag(w_hidden_sizes, element, dnnl_format_tag_any));
  TENON_TRY(const auto bias, Format::with_tag(bias_sizes, dnnl_f32, dnnl_ldgo));
  TENON_TRY(const PrimitiveDesc desc,
            onednn::lstm({l.reverse, input, hidden, cell, w_input, w_hidden, bias, output}));
  static constexpr int arguments[] = {
      DNNL_ARG_SRC_LAYER,     DNNL_ARG_SRC_ITER,     DNNL_ARG_SRC_ITER_C,
      DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_WEIGHTS_ITER, DNNL_ARG_BIAS,
      DNNL_ARG_DST_LAYER,     DNNL_ARG_DST_ITER,     DNNL_ARG_DST_ITER_C};
  TENON_RETURN_IF_ERROR(plan.lstm.make(desc, arguments));
  // PyTorch's weights: gates and outputs before inputs, gates in oneDNN's order.
  TENON_TRY(const auto from_input, Format::with_tag(w_input_sizes, element, dnnl_ldgoi));
  TENON_TRY(const auto from_hidden, Format::with_tag(w_hidden_sizes, element, dnnl_ldgoi));
  plan.w_input.set_formats(from_input, plan.lstm.format(DNNL_ARG_WEIGHTS_LAYER));
  plan.w_hidden.set_formats(from_hidden, plan.lstm.format(DNNL_ARG_WEIGHTS_ITER));
  return ok();
}

Result<Scratch> scratch_for(std::int64_t count, ScalarType type) {
  return Scratch::of(count * static_cast<std::int64_t>(size_of(type)));
}

/// The elements of an argument, contiguous and of one type.
struct Elements {
  std::optional<Scratch> copy;
  std::byte* data = nullptr;
  bool is_fixed = false;  ///< The weights are a constant that nothing writes to.
};

/// `type` is Float or the tensor's own. A tensor that has the elements so is used itself.
Result<Elements> elements_of(const ModelTensor& tensor, ScalarType type) {
  Elements out{{}, tensor.data, tensor.storage->is_fixed};
  if (tensor.scalar_type == type && tensor.is_contiguous()) return out;
  TENON_TRY(out.copy, scratch_for(tensor.numel, type));
  out.data = out.copy->as<std::byte>();
  out.is_fixed = false;
  const Layout from{tensor.data, tensor.strides.data()};
  if (type == ScalarType::Float) {
    to_floats(tensor.shape(), tensor.scalar_type, from, out.copy->as<float>());
  } else {
    Dims strides{};
    aoti::contiguous_strides(tensor.shape(), std::span(strides).first(tensor.shape().size()));
    copy_strided(tensor.shape(), size_of(type), {out.data, strides.data()}, from);
  }
  return out;
}

/// Where the primitive writes a new tensor's elements: in place, or, of another type, in `copy`.
struct Target {
  std::optional<Scratch> copy;
  std::byte* data = nullptr;

  void finish(const ModelTensor& tensor) const {
    if (!copy) return;
    from_floats(tensor.shape(), tensor.scalar_type, copy->as<float>(),
                {tensor.data, tensor.strides.data()});
  }
};

Result<Target> target_of(const ModelTensor& tensor, ScalarType type) {
  Target out{{}, tensor.data};
  if (tensor.scalar_type == type) return out;
  TENON_TRY(out.copy, scratch_for(tensor.numel, type));
  out.data = out.copy->as<std::byte>();
  return out;
}

/// The sum of the two biases, or zeros.
Result<Scratch> bias_of(const Lstm& l) {
  const std::int64_t gates = 4 * l.size;
  TENON_TRY(Scratch sum, scratch_for(gates, ScalarType::Float));
  auto* const out = sum.as<float>();
  std::fill_n(out, gates, 0.0f);
  for (const ModelTensor* const bias : l.bias) {
    if (!bias) continue;
    TENON_TRY(const Elements elements, elements_of(*bias, ScalarType::Float));
    const auto* const add = reinterpret_cast<const float*>(elements.data);
    for (std::int64_t i = 0; i < gates; ++i) out[i] += add[i];
  }
  return sum;
}

Status run_layer(const Lstm& l, const ModelTensor& out, const ModelTensor& hidden,
                 const ModelTensor& cell) {
  // oneDNN 2.6: its LSTM of BFloat16 is for AVX-512, and there is none of Half. Cells are Float in
  // both.
  const ScalarType own = l.input.scalar_type;
  const bool is_narrow = own == ScalarType::BFloat16 && vector_level() >= VectorLevel::avx512;
  const ScalarType type = is_narrow ? own : ScalarType::Float;
  const Key key{static_cast<std::int64_t>(type),
                std::int64_t{l.reverse},
                l.steps(),
                l.batch(),
                l.input.sizes[2],
                l.size};
  TENON_TRY(Plan* const plan, aoti::current_pool().cache<Cache<Plan>>().get(
                                  key, [&](Plan& made) { return make_plan(l, type, made); }));
  TENON_TRY(const Elements input, elements_of(l.input, type));
  TENON_TRY(const Elements first_hidden, elements_of(l.hidden, type));
  TENON_TRY(const Elements first_cell, elements_of(l.cell, ScalarType::Float));
  TENON_TRY(const Elements w_input, elements_of(l.w_input, type));
  TENON_TRY(const Elements w_hidden, elements_of(l.w_hidden, type));
  TENON_TRY(const Scratch bias, bias_of(l));
  TENON_TRY(const Target to_out, target_of(out, type));
  TENON_TRY(const Target to_hidden, target_of(hidden, type));
  TENON_TRY(const Target to_cell, target_of(cell, ScalarType::Float));
  std::optional<Scratch> w_input_copy, w_hidden_copy;
  TENON_TRY(std::byte* const w_x,
            plan->w_input.get_or_copy(w_input.data, w_input.is_fixed, w_input_copy));
  TENON_TRY(std::byte* const w_h,
            plan->w_hidden.get_or_copy(w_hidden.data, w_hidden.is_fixed, w_hidden_copy));
  struct Argument {
    int index;
    void* data;
  };
  for (const auto& [index, data] : {Argument{DNNL_ARG_SRC_LAYER, input.data},
                                    {DNNL_ARG_SRC_ITER, first_hidden.data},
                                    {DNNL_ARG_SRC_ITER_C, first_cell.data},
                                    {DNNL_ARG_WEIGHTS_LAYER, w_x},
                                    {DNNL_ARG_WEIGHTS_ITER, w_h},
                                    {DNNL_ARG_BIAS, bias.as<void>()},
                                    {DNNL_ARG_DST_LAYER, to_out.data},
                                    {DNNL_ARG_DST_ITER, to_hidden.data},
                                    {DNNL_ARG_DST_ITER_C, to_cell.data}}) {
    TENON_RETURN_IF_ERROR(plan->lstm.set(index, data));
  }
  TENON_RETURN_IF_ERROR(plan->lstm.run());
  to_out.finish(out);
  to_hidden.finish(hidden);
  to_cell.finish(cell);
  return ok();
}

Status run(const Lstm& l, ModelTensor** ret0, ModelTensor** ret1, ModelTensor** ret2,
           ModelTensor** ret3) {
  TENON_RETURN_IF_ERROR(check_arguments(l));
  const ScalarType type = l.input.scalar_type;
  const std::int64_t shape[] = {l.steps(), l.batch(), l.size};
  TENON_TRY(OwnedTensor out, new_tensor(shape, nullptr, type));
  TENON_TRY(OwnedTensor hidden, new_tensor(l.hidden.shape(), nullptr, type));
  TENON_TRY(OwnedTensor cell, new_tensor(l.cell.shape(), nullptr, type));
  const std::int64_t none = 0;
  TENON_TRY(OwnedTensor workspace, new_tensor(Sizes(&none, 1), nullptr, ScalarType::Byte));
  if (l.input.numel > 0) {
    TENON_RETURN_IF_ERROR(run_layer(l, *out, *hidden, *cell));
  } else {
    for (const auto& [to, from] : {std::pair{&*hidden, &l.hidden}, {&*cell, &l.cell}}) {
      copy_strided(to->shape(), size_of(type), {to->data, to->strides.data()},
                   {from->data, from->strides.data()});
    }
  }
  *ret0 = out.take();
  *ret1 = hidden.take();
  *ret2 = cell.take();
  *ret3 = workspace.take();
  return ok();
}

}  // namespace

ShimError aoti_torch_cpu_mkldnn_rnn_layer(
    ModelTensor* input, ModelTensor* weight0, ModelTensor* weight1, ModelTensor* weight2,
    ModelTensor* weight3, ModelTensor* hx, ModelTensor* cx, std::int32_t reverse,
    const std::int64_t*, std::int64_t batch_sizes_len, std::int64_t mode, std::int64_t hidden_size,
    std::int64_t num_layers, std::int32_t has_biases, std::int32_t bidirectional,
    std::int32_t batch_first, std::int32_t train, ModelTensor** ret0, ModelTensor** ret1,
    ModelTensor** ret2, ModelTensor** ret3) noexcept {
  return shim_call("mkldnn_rnn_layer", [&]() -> Status {
    if (mode != lstm_mode) {
      return error(Error::NotSupported, "mode ", mode, ": expected 2, an LSTM");
    }
    if (num_layers != 1 || bidirectional || batch_first || train || batch_sizes_len != 0) {
      return error(Error::NotSupported, "num_layers ", num_layers, ", bidirectional ",
                   bidirectional != 0, ", batch_first ", batch_first != 0, ", train ", train != 0,
                   ", ", batch_sizes_len,
                   " batch sizes: expected one layer, one direction, time first, inference, and "
                   "no packed batches");
    }
    const Lstm lstm{*input,       *weight0,
                    *weight1,     {has_biases ? weight2 : nullptr, has_biases ? weight3 : nullptr},
                    *hx,          *cx,
                    reverse != 0, hidden_size};
    return run(lstm, ret0, ret1, ret2, ret3);
  });
}

}  // namespace tenon::cpu_aoti
