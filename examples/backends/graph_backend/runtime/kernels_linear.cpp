// SPDX-License-Identifier: MIT
//
// Matrix products, attention and convolutions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels.hpp"

namespace graph_backend::kernels {
namespace {

/// out[r, n] += alpha * a[r, k] * b[k, n] for `rows` neighbouring rows at once: each row of b that
/// was fetched serves all of them.
template <int rows>
void multiply_rows(const float* a, const float* b, float* out, std::int64_t k_size,
                   std::int64_t n_size, float alpha) {
  for (std::int64_t k = 0; k < k_size; ++k) {
    float factors[rows];
    for (int r = 0; r < rows; ++r) factors[r] = alpha * a[r * k_size + k];
    const float* from = b + k * n_size;
    for (int r = 0; r < rows; ++r) {
      float* to = out + r * n_size;
      const float factor = factors[r];
      for (std::int64_t n = 0; n < n_size; ++n) to[n] += factor * from[n];
    }
  }
}

void multiply(const float* a, const float* b, float* out, std::int64_t m_size, std::int64_t k_size,
              std::int64_t n_size, float alpha) {
  constexpr std::int64_t rows = 4;
  std::int64_t m = 0;
  for (; m + rows <= m_size; m += rows) {
    multiply_rows<rows>(a + m * k_size, b, out + m * n_size, k_size, n_size, alpha);
  }
  for (; m < m_size; ++m) {
    multiply_rows<1>(a + m * k_size, b, out + m * n_size, k_size, n_size, alpha);
  }
}

/// Adds alpha * a[r, k] * b[n, k], whose rows belong to a product with b turned.
void multiply_turned(const float* a, const float* b, float* out, std::int64_t m_size,
                     std::int64_t k_size, std::int64_t n_size, float alpha) {
  for (std::int64_t m = 0; m < m_size; ++m) {
    for (std::int64_t n = 0; n < n_size; ++n) {
      float sum = 0;
      for (std::int64_t k = 0; k < k_size; ++k) sum += a[m * k_size + k] * b[n * k_size + k];
      out[m * n_size + n] += alpha * sum;
    }
  }
}

/// Writes beta * bias to all of `out`, or 0.
void start_with(const Operand* bias, float beta, const Operand& out) {
  if (!bias || beta == 0) {
    std::fill_n(out.floats_to_write(), out.shape.numel(), 0.0F);
    return;
  }
  const Strides strides[] = {broadcast_strides(bias->shape, out.shape)};
  const std::size_t last = out.shape.rank() - 1;
  const std::int64_t step = strides[0].of[last];
  for_each_row(out.shape, strides, [&](std::int64_t row, const std::int64_t(&offsets)[1]) {
    const float* from = bias->floats() + offsets[0];
    float* to = out.floats_to_write() + row;
    for (std::int64_t i = 0; i < out.shape[last]; ++i) to[i] = beta * from[i * step];
  });
}

/// The outputs along one dimension whose input for tap `tap` of the kernel is not padding:
/// `first` to before `end`. Output o reads input o * stride + offset.
struct Range {
  std::int64_t first, end, offset;
};
Range outputs_of(std::int64_t tap, std::int64_t stride, std::int64_t padding, std::int64_t dilation,
                 std::int64_t in_size, std::int64_t out_size) {
  const std::int64_t offset = tap * dilation - padding;
  const std::int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const std::int64_t end = in_size <= offset ? 0 : (in_size - offset - 1) / stride + 1;
  return {first, std::min(end, out_size), offset};
}

/// Adds what one plane of the input gives to one plane of the output.
void convolve_plane(const blob::ConvolutionT& op, const float* x, const Shape& x_shape,
                    const float* weight, const Shape& weight_shape, float* out,
                    const Shape& out_shape) {
  const std::int64_t w_in = x_shape[3];
  const std::int64_t w_out = out_shape[3];
  const std::int64_t step = op.stride.w();
  for (std::int64_t kh = 0; kh < weight_shape[2]; ++kh) {
    const Range h =
        outputs_of(kh, op.stride.h(), op.padding.h(), op.dilation.h(), x_shape[2], out_shape[2]);
    for (std::int64_t kw = 0; kw < weight_shape[3]; ++kw) {
      const Range w = outputs_of(kw, step, op.padding.w(), op.dilation.w(), w_in, w_out);
      const float factor = weight[kh * weight_shape[3] + kw];
      const std::int64_t count = w.end - w.first;
      for (std::int64_t oh = h.first; count > 0 && oh < h.end; ++oh) {
        const float* from = x + (oh * op.stride.h() + h.offset) * w_in + w.first * step + w.offset;
        float* to = out + oh * w_out + w.first;
        if (step == 1) {
          for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
        } else {
          for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i * step];
        }
      }
    }
  }
}

}  // namespace

void matmul(const blob::MatMulT& op, Operands in, const Operand& out) {
  if (out.shape.numel() == 0) return;
  const Operand& a = *in[0];
  const Operand& b = *in[1];
  start_with(in.size() == 3 ? in[2] : nullptr, op.beta, out);
  if (op.alpha == 0) return;
  const std::int64_t k_size = a.shape.last();
  const std::int64_t n_size = out.shape.last();
  const std::int64_t batch = b.shape.product(0, b.shape.rank() - 2);
  const std::int64_t m_size = out.shape.numel() / n_size / batch;
  for (std::int64_t i = 0; i < batch; ++i) {
    (op.transposed ? multiply_turned : multiply)(
        a.floats() + i * m_size * k_size, b.floats() + i * k_size * n_size,
        out.floats_to_write() + i * m_size * n_size, m_size, k_size, n_size, op.alpha);
  }
}

void attention(const blob::AttentionT& op, Operands in, const Operand& out) {
  constexpr float nothing = -std::numeric_limits<float>::infinity();
  const Shape& query = in[0]->shape;
  const Shape& key = in[1]->shape;
  const std::int64_t length = query.last(2), size = query.last(), keys = key.last(2);
  Shape scores = query;
  scores.last() = keys;
  const Strides strides[] = {in.size() == 4 ? broadcast_strides(in[3]->shape, scores) : Strides()};
  const std::int64_t step = in.size() == 4 ? strides[0].of[scores.rank() - 1] : 0;
  // One query after the other, and in it one key: the sums so far are scaled when the largest
  // score changes.
  std::int64_t row = 0;
  for_each_row(scores, strides, [&](std::int64_t, const std::int64_t(&offsets)[1]) {
    const std::int64_t place = row % length, head = row / length;
    const float* q = in[0]->floats() + row * size;
    float* to = out.floats_to_write() + row++ * size;
    std::fill_n(to, size, 0.0F);
    float most = nothing, sum = 0;
    for (std::int64_t k = 0; k < (op.causal ? std::min(keys, place + 1) : keys); ++k) {
      const float* other = in[1]->floats() + (head * keys + k) * size;
      const float* value = in[2]->floats() + (head * keys + k) * size;
      float score = 0;
      for (std::int64_t i = 0; i < size; ++i) score += q[i] * other[i];
      score *= op.scale;
      if (in.size() == 4) score += in[3]->floats()[offsets[0] + k * step];
      if (score == nothing) continue;
      const float larger = score > most ? score : most;
      const float factor = std::exp(most - larger), share = std::exp(score - larger);
      for (std::int64_t i = 0; i < size; ++i) to[i] = to[i] * factor + share * value[i];
      sum = sum * factor + share;
      most = larger;
    }
    for (std::int64_t i = 0; sum != 0 && i < size; ++i) to[i] /= sum;
  });
}

void convolution(const blob::ConvolutionT& op, Operands in, const Operand& out) {
  const Operand& x = *in[0];
  const Operand& weight = *in[1];
  const std::int64_t channels = weight.shape[1];
  const std::int64_t outputs_of_group = weight.shape[0] / op.groups;
  const std::int64_t x_plane = x.shape[2] * x.shape[3];
  const std::int64_t out_plane = out.shape[2] * out.shape[3];
  const std::int64_t kernel = weight.shape[2] * weight.shape[3];
  for (std::int64_t n = 0; n < out.shape[0]; ++n) {
    for (std::int64_t o = 0; o < out.shape[1]; ++o) {
      float* to = out.floats_to_write() + (n * out.shape[1] + o) * out_plane;
      std::fill_n(to, out_plane, in.size() == 3 ? in[2]->floats()[o] : 0.0F);
      const std::int64_t first = o / outputs_of_group * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        convolve_plane(op, x.floats() + (n * x.shape[1] + first + c) * x_plane, x.shape,
                       weight.floats() + (o * channels + c) * kernel, weight.shape, to, out.shape);
      }
    }
  }
}

}  // namespace graph_backend::kernels
