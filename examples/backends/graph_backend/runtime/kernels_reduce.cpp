// SPDX-License-Identifier: MIT
//
// Operators that see several elements at once: sums, softmax, layer norm.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels.hpp"

namespace graph_backend::kernels {

void reduce(const blob::ReduceT& op, const Operand& x, const Operand& out) {
  float* to = out.floats_to_write();
  std::fill_n(to, out.shape.numel(), 0.0F);
  const Shape& shape = x.shape;
  // The target of each element: dimensions that are summed have no distance in the output.
  Strides strides[1];
  std::int64_t stride = 1;
  std::int64_t count = 1;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    const bool reduced = (op.dims >> i & 1U) != 0;
    strides[0].of[i] = reduced ? 0 : stride;
    (reduced ? count : stride) *= shape[i];
  }
  if (shape.numel() != 0) {
    const std::int64_t length = shape.rank() == 0 ? 1 : shape.last();
    const bool sums_row = shape.rank() != 0 && strides[0].of[shape.rank() - 1] == 0;
    for_each_row(shape, strides, [&](std::int64_t row, const std::int64_t(&offsets)[1]) {
      const float* from = x.floats() + row;
      float* target = to + offsets[0];
      if (sums_row) {
        *target += sum_of(length, [from](std::int64_t i) { return from[i]; });
      } else {
        for (std::int64_t i = 0; i < length; ++i) target[i] += from[i];
      }
    });
  }
  if (op.kind == blob::ReduceKind::Sum) return;
  // The mean of nothing is NaN, as in PyTorch.
  for (std::int64_t i = 0; i < out.shape.numel(); ++i) to[i] /= static_cast<float>(count);
}

void softmax(const blob::SoftmaxT& op, const Operand& x, const Operand& out) {
  const Shape& shape = x.shape;
  const std::int64_t outer = shape.product(0, op.dim);
  const std::int64_t size = shape[op.dim];
  const std::int64_t step = shape.product(op.dim + std::size_t{1}, shape.rank());
  for (std::int64_t i = 0; i < outer * step; ++i) {
    const std::int64_t at = i / step * size * step + i % step;
    const float* from = x.floats() + at;
    float* to = out.floats_to_write() + at;
    float max = -std::numeric_limits<float>::infinity();
    for (std::int64_t k = 0; k < size; ++k) max = std::max(max, from[k * step]);
    for (std::int64_t k = 0; k < size; ++k) to[k * step] = std::exp(from[k * step] - max);
    const float sum = sum_of(size, [&](std::int64_t k) { return to[k * step]; });
    if (op.log) {
      const float subtrahend = max + std::log(sum);
      for (std::int64_t k = 0; k < size; ++k) to[k * step] = from[k * step] - subtrahend;
    } else {
      for (std::int64_t k = 0; k < size; ++k) to[k * step] /= sum;
    }
  }
}

void layer_norm(const blob::LayerNormT& op, Operands in, const Operand& out) {
  const Operand& x = *in[0];
  const std::int64_t rows = x.shape.product(0, x.shape.rank() - op.dims);
  const std::int64_t size = x.shape.product(x.shape.rank() - op.dims, x.shape.rank());
  const auto count = static_cast<float>(size);
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* from = x.floats() + row * size;
    float* to = out.floats_to_write() + row * size;
    const float mean = sum_of(size, [&](std::int64_t i) { return from[i]; }) / count;
    const float variance = sum_of(size,
                                  [&](std::int64_t i) {
                                    const float distance = from[i] - mean;
                                    return distance * distance;
                                  }) /
                           count;
    const float scale = 1.0F / std::sqrt(variance + op.eps);
    for (std::int64_t i = 0; i < size; ++i) to[i] = (from[i] - mean) * scale;
    if (in.size() == 1) continue;
    const float* weight = in[1]->floats();
    const float* bias = in[2]->floats();
    for (std::int64_t i = 0; i < size; ++i) to[i] = to[i] * weight[i] + bias[i];
  }
}

}  // namespace graph_backend::kernels
