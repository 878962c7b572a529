// SPDX-License-Identifier: MIT
//
// Operators that see several elements at once: sums, softmax, layer norm.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "runtime/kernels.hpp"
#include "runtime/vectors.hpp"

namespace graph_backend::kernels {
namespace {

/// Sum of `value(i)` for i below `count`. Many sums side by side: a compiler may not reorder one.
template <class Value>
GRAPH_BACKEND_INLINE inline float sum_of(std::int64_t count, Value value) {
  constexpr std::int64_t lanes = 16;
  float sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) sums[lane] += value(i + lane);
  }
  for (; i < count; ++i) sums[0] += value(i);
  for (std::int64_t lane = lanes / 2; lane > 0; lane /= 2) {
    for (std::int64_t k = 0; k < lane; ++k) sums[k] += sums[k + lane];
  }
  return sums[0];
}

/// The sum of each row of `length` elements.
void sum_rows(const float* from, std::int64_t rows, std::int64_t length, float* to) {
  with_vectors([&]() GRAPH_BACKEND_INLINE {
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* x = from + row * length;
      to[row] = sum_of(length, [x](std::int64_t i) GRAPH_BACKEND_INLINE { return x[i]; });
    }
  });
}

/// Sums of any dimensions. A summed dimension has no distance in the output.
void sum_strided(const blob::ReduceT& op, const Operand& x, float* to) {
  const Shape& shape = x.shape;
  Strides strides[1];
  std::int64_t stride = 1;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    const bool reduced = (op.dims >> i & 1U) != 0;
    strides[0].of[i] = reduced ? 0 : stride;
    if (!reduced) stride *= shape[i];
  }
  const std::int64_t length = shape.last();
  const bool sums_row = strides[0].of[shape.rank() - 1] == 0;
  for_each_row(shape, strides, [&](std::int64_t row, const std::int64_t(&offsets)[1]) {
    const float* from = x.floats() + row;
    float* target = to + offsets[0];
    with_vectors([&]() GRAPH_BACKEND_INLINE {
      if (sums_row) {
        *target += sum_of(length, [from](std::int64_t i) GRAPH_BACKEND_INLINE { return from[i]; });
      } else {
        for (std::int64_t i = 0; i < length; ++i) target[i] += from[i];
      }
    });
  });
}

/// One row of elements that are `step` apart.
template <class Step>
GRAPH_BACKEND_INLINE inline void softmax_row(const float* from, float* to, std::int64_t size,
                                             Step step, bool log) {
  float max = -std::numeric_limits<float>::infinity();
  for (std::int64_t k = 0; k < size; ++k) max = from[k * step] > max ? from[k * step] : max;
  for (std::int64_t k = 0; k < size; ++k) to[k * step] = exp_of_negative(from[k * step] - max);
  const float sum = sum_of(size, [=](std::int64_t k) GRAPH_BACKEND_INLINE { return to[k * step]; });
  if (log) {
    const float logarithm = std::log(sum);
    for (std::int64_t k = 0; k < size; ++k) to[k * step] = from[k * step] - max - logarithm;
  } else {
    for (std::int64_t k = 0; k < size; ++k) to[k * step] /= sum;
  }
}

}  // namespace

void reduce(const blob::ReduceT& op, const Operand& x, const Operand& out) {
  float* to = out.floats_to_write();
  const Shape& shape = x.shape;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if ((op.dims >> i & 1U) != 0) count *= shape[i];
  }
  // Most often the last dimensions are summed, which are rows without gaps.
  const auto summed = static_cast<std::size_t>(std::popcount(op.dims));
  const bool are_last = op.dims == ((1U << summed) - 1) << (shape.rank() - summed);
  if (are_last) {
    sum_rows(x.floats(), out.shape.numel(), count, to);
  } else {
    std::fill_n(to, out.shape.numel(), 0.0F);
    if (shape.numel() != 0) sum_strided(op, x, to);
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
  struct Adjacent {
    constexpr operator std::int64_t() const noexcept { return 1; }
  };
  with_vectors([&]() GRAPH_BACKEND_INLINE {
    for (std::int64_t i = 0; i < outer * step; ++i) {
      const std::int64_t at = i / step * size * step + i % step;
      if (step == 1) {
        softmax_row(x.floats() + at, out.floats_to_write() + at, size, Adjacent(), op.log);
      } else {
        softmax_row(x.floats() + at, out.floats_to_write() + at, size, step, op.log);
      }
    }
  });
}

void layer_norm(const blob::LayerNormT& op, Operands in, const Operand& out) {
  const Operand& x = *in[0];
  const std::int64_t rows = x.shape.product(0, x.shape.rank() - op.dims);
  const std::int64_t size = x.shape.product(x.shape.rank() - op.dims, x.shape.rank());
  const auto count = static_cast<float>(size);
  const float* weight = in.size() == 3 ? in[1]->floats() : nullptr;
  const float* bias = in.size() == 3 ? in[2]->floats() : nullptr;
  with_vectors([&]() GRAPH_BACKEND_INLINE {
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* from = x.floats() + row * size;
      float* to = out.floats_to_write() + row * size;
      const float mean =
          sum_of(size, [=](std::int64_t i) GRAPH_BACKEND_INLINE { return from[i]; }) / count;
      const float squares = sum_of(size, [=](std::int64_t i) GRAPH_BACKEND_INLINE {
        return (from[i] - mean) * (from[i] - mean);
      });
      // As in PyTorch, a row whose mean has no square is NaN.
      const float scale = std::isinf(mean * mean) ? std::numeric_limits<float>::quiet_NaN()
                                                  : 1.0F / std::sqrt(squares / count + op.eps);
      if (weight) {
        for (std::int64_t i = 0; i < size; ++i) {
          to[i] = (from[i] - mean) * scale * weight[i] + bias[i];
        }
      } else {
        for (std::int64_t i = 0; i < size; ++i) to[i] = (from[i] - mean) * scale;
      }
    }
  });
}

}  // namespace graph_backend::kernels
