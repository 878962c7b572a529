// SPDX-License-Identifier: MIT
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "kernels/elements.hpp"
#include "kernels/exponential.hpp"
#include "kernels/gemm.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/vectors/rows.hpp"
#include "kernels/vectors/vector_level.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

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

Status check(const Lstm& l) {
  const std::int64_t gates = 4 * l.size;
  if (l.input.rank != 3 || l.size <= 0) {
    return error(Error::InvalidArgument, "an input ", shape_text(l.input.shape()),
                 " and a hidden size ", l.size, ": expected 3 dimensions and a positive size");
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

/// The tensor as a matrix of one type: its own elements where possible, else a contiguous copy.
struct Matrix {
  std::optional<Scratch> copy;
  MatrixView view;
  bool is_fixed = false;  ///< Its elements are those of a constant that nothing writes to.
};

/// `type` is Float or the tensor's own.
Status as_matrix(const ModelTensor& tensor, std::int64_t rows, std::int64_t columns,
                 ScalarType type, Matrix& out) {
  const auto inner = static_cast<std::size_t>(tensor.rank - 1);
  const bool plain = tensor.is_contiguous() || (tensor.rank == 2 && tensor.strides[inner] == 1);
  if (tensor.scalar_type == type && plain) {
    const std::int64_t step = tensor.is_contiguous() ? columns : tensor.strides[0];
    out.view = {tensor.data, rows, columns, step, 1};
    out.is_fixed = tensor.storage->is_fixed;
    return ok();
  }
  TENON_TRY(out.copy, Scratch::of(tensor.numel * static_cast<std::int64_t>(size_of(type))));
  const Layout from{tensor.data, tensor.strides.data()};
  if (type == ScalarType::Float) {
    to_floats(tensor.shape(), tensor.scalar_type, from, out.copy->as<float>());
  } else {
    Dims strides{};
    aoti::contiguous_strides(tensor.shape(), std::span(strides).first(tensor.shape().size()));
    copy_strided(tensor.shape(), size_of(type), {out.copy->as<std::byte>(), strides.data()}, from);
  }
  out.view = {out.copy->as<std::byte>(), rows, columns, columns, 1};
  return ok();
}

[[nodiscard]] MatrixView transposed(const MatrixView& view) noexcept {
  return {view.data, view.cols, view.rows, view.col_stride, view.row_stride};
}

// Loops over `lanes` floats have a known length, so that compilers vectorise them.
constexpr std::int64_t lanes = 16;
struct Lanes {
  alignas(64) float at[lanes];
};

/// 1 / (1 + exp(-factor x)), to a few units in the last place of 1.
[[gnu::always_inline]] inline void sigmoid(Lanes& x, float factor) noexcept {
  for (float& value : x.at) {
    float y = -factor * value;
    y = y < -87.0f ? -87.0f : y;  // NaN stays.
    y = y > 87.0f ? 87.0f : y;
    value = 1.0f / (1.0f + exponential(y));
  }
}

[[gnu::always_inline]] inline void tanh(Lanes& x) noexcept {
  sigmoid(x, 2);
  for (float& value : x.at) value = 2.0f * value - 1.0f;
}

[[gnu::always_inline]] inline void step_inline(const float* gates, std::int64_t size, float* cell,
                                               float* hidden) noexcept {
  for (std::int64_t j = 0; j < size; j += lanes) {
    const auto count = static_cast<std::size_t>(std::min(lanes, size - j));
    Lanes in{}, forget{}, candidate{}, out{}, state{};
    std::copy_n(gates + j, count, in.at);
    std::copy_n(gates + size + j, count, forget.at);
    std::copy_n(gates + 2 * size + j, count, candidate.at);
    std::copy_n(gates + 3 * size + j, count, out.at);
    std::copy_n(cell + j, count, state.at);
    sigmoid(in, 1);
    sigmoid(forget, 1);
    sigmoid(out, 1);
    tanh(candidate);
    for (std::int64_t i = 0; i < lanes; ++i) {
      state.at[i] = forget.at[i] * state.at[i] + in.at[i] * candidate.at[i];
    }
    std::copy_n(state.at, count, cell + j);
    tanh(state);
    for (std::int64_t i = 0; i < lanes; ++i) out.at[i] *= state.at[i];
    std::copy_n(out.at, count, hidden + j);
  }
}

using Step = void (*)(const float*, std::int64_t, float*, float*) noexcept;

void step_anywhere(const float* gates, std::int64_t size, float* cell, float* hidden) noexcept {
  step_inline(gates, size, cell, hidden);
}

#if defined(__x86_64__)
TENON_CPU_AOTI_AVX2 void step_avx2(const float* gates, std::int64_t size, float* cell,
                                   float* hidden) noexcept {
  step_inline(gates, size, cell, hidden);
}

TENON_CPU_AOTI_AVX512 void step_avx512(const float* gates, std::int64_t size, float* cell,
                                       float* hidden) noexcept {
  step_inline(gates, size, cell, hidden);
}

Step choose_step() noexcept {
  if (vector_level() >= VectorLevel::avx512) return step_avx512;
  return vector_level() >= VectorLevel::avx2 ? step_avx2 : step_anywhere;
}
#else
Step choose_step() noexcept { return step_anywhere; }
#endif

/// Computes the next cell and hidden state of one element of the batch from the sums of the gates.
void step(const float* gates, std::int64_t size, float* cell, float* hidden) noexcept {
  static const Step chosen = choose_step();
  chosen(gates, size, cell, hidden);
}

/// `rows` times the sum of the two biases, or zeros.
void fill_bias(const Matrix* bias, bool any, std::int64_t rows, std::int64_t gates, float* out) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t j = 0; j < gates; ++j) {
      out[row * gates + j] =
          any ? *bias[0].view.at<float>(0, j) + *bias[1].view.at<float>(0, j) : 0.0f;
    }
  }
}

Status run(const Lstm& l, ModelTensor** ret0, ModelTensor** ret1, ModelTensor** ret2,
           ModelTensor** ret3) {
  TENON_RETURN_IF_ERROR(check(l));
  const ScalarType type = l.input.scalar_type;
  const std::int64_t steps = l.steps();
  const std::int64_t batch = l.batch();
  const std::int64_t size = l.size;
  const std::int64_t gates = 4 * size;
  const std::int64_t shape[] = {steps, batch, size};
  TENON_TRY(OwnedTensor out, new_tensor(shape, nullptr, type));
  TENON_TRY(OwnedTensor hidden, new_tensor(l.hidden.shape(), nullptr, type));
  TENON_TRY(OwnedTensor cell, new_tensor(l.cell.shape(), nullptr, type));
  const std::int64_t none = 0;
  TENON_TRY(OwnedTensor workspace, new_tensor(Sizes(&none, 1), nullptr, ScalarType::Byte));

  // Gates and cells are computed in float. Products of BFloat16 have sums in float, so there the
  // hidden state is rounded after each step, as it is in PyTorch's.
  const bool narrow = type == ScalarType::BFloat16 && has_bfloat16_products(batch);
  const ScalarType factors = narrow ? type : ScalarType::Float;
  Matrix x, w_input, w_hidden, first, bias[2];
  TENON_RETURN_IF_ERROR(as_matrix(l.input, steps * batch, l.input.sizes[2], factors, x));
  TENON_RETURN_IF_ERROR(as_matrix(l.w_input, gates, l.input.sizes[2], factors, w_input));
  TENON_RETURN_IF_ERROR(as_matrix(l.w_hidden, gates, size, factors, w_hidden));
  TENON_RETURN_IF_ERROR(as_matrix(l.hidden, batch, size, factors, first));
  for (std::size_t i = 0; i < 2 && l.bias[0]; ++i) {
    TENON_RETURN_IF_ERROR(as_matrix(*l.bias[i], 1, gates, ScalarType::Float, bias[i]));
  }
  const std::int64_t state_size = batch * size;
  const auto bytes = [](std::int64_t count) {
    return count * static_cast<std::int64_t>(sizeof(float));
  };
  TENON_TRY(const Scratch sums, Scratch::of(bytes(steps * batch * gates)));
  TENON_TRY(const Scratch cells, Scratch::of(bytes(state_size)));
  // A float result is written in place, a rounded one row by row or at the end.
  const std::int64_t wide_rows = type == ScalarType::Float ? 0 : narrow ? 1 : steps * batch;
  TENON_TRY(const Scratch wide_out, Scratch::of(bytes(wide_rows * size)));
  auto* y = type == ScalarType::Float ? out->as<float>() : wide_out.as<float>();
  auto* c = cells.as<float>();
  to_floats(l.cell.shape(), type, {l.cell.data, l.cell.strides.data()}, c);

  // The input's part of the gates, for all steps; then that of the last hidden state.
  fill_bias(bias, l.bias[0] != nullptr, steps * batch, gates, sums.as<float>());
  const auto sums_of = [&](std::int64_t from, std::int64_t rows) {
    auto* data = reinterpret_cast<std::byte*>(sums.as<float>() + from * gates);
    return MatrixView{data, rows, gates, gates, 1};
  };
  const auto add = [&](const MatrixView& a, const Matrix& weights, const MatrixView& to) {
    return multiply({.type = factors,
                     .a = a,
                     .b = transposed(weights.view),
                     .c = to,
                     .alpha = 1,
                     .beta = 1,
                     .float_result = narrow,
                     .is_b_fixed = weights.is_fixed});
  };
  if (x.view.cols > 0 && steps * batch > 0) {
    TENON_RETURN_IF_ERROR(add(x.view, w_input, sums_of(0, steps * batch)));
  }
  MatrixView before = first.view;
  for (std::int64_t i = 0; i < steps && batch > 0; ++i) {
    const std::int64_t t = l.reverse ? steps - 1 - i : i;
    const MatrixView sum = sums_of(t * batch, batch);
    TENON_RETURN_IF_ERROR(add(before, w_hidden, sum));
    const MatrixView now{narrow ? reinterpret_cast<std::byte*>(out->as<BFloat16>() + t * state_size)
                                : reinterpret_cast<std::byte*>(y + t * state_size),
                         batch, size, size, 1};
    for (std::int64_t b = 0; b < batch; ++b) {
      float* const row = narrow ? y : now.at<float>(b, 0);
      step(sum.at<float>(b, 0), size, c + b * size, row);
      if (narrow) narrow_row(row, size, now.at<BFloat16>(b, 0));
    }
    before = now;
  }
  if (type != ScalarType::Float && !narrow) {
    from_floats(out->shape(), type, y, {out->data, out->strides.data()});
  }
  TENON_TRY(const Scratch last, Scratch::of(bytes(state_size)));
  const std::int64_t matrix[] = {batch, size};
  const std::int64_t strides[] = {before.row_stride, 1};
  to_floats(matrix, factors, {before.data, strides}, last.as<float>());
  from_floats(hidden->shape(), type, last.as<float>(), {hidden->data, hidden->strides.data()});
  from_floats(cell->shape(), type, c, {cell->data, cell->strides.data()});
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
