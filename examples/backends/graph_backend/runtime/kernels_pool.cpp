// SPDX-License-Identifier: MIT
//
// Windows that move over planes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels.hpp"

namespace graph_backend::kernels {
namespace {

/// Calls `pool(plane, h, w)` for each output in memory order, and writes what it returns.
template <class Pool>
void for_each_window(const Operand& x, const Operand& out, Pool&& pool) {
  const std::int64_t h_out = out.shape.last(2);
  const std::int64_t w_out = out.shape.last(1);
  const std::int64_t plane = x.shape.last(2) * x.shape.last(1);
  const std::int64_t planes = x.shape.product(0, x.shape.rank() - 2);
  const float* from = x.floats();
  float* to = out.floats_to_write();
  for (std::int64_t p = 0; p < planes; ++p, from += plane) {
    for (std::int64_t h = 0; h < h_out; ++h) {
      for (std::int64_t w = 0; w < w_out; ++w) *to++ = pool(from, h, w);
    }
  }
}

/// From `begin` to before `end` along one dimension.
struct Span {
  std::int64_t begin, end;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

float sum_of_window(const float* plane, std::int64_t width, Span h, Span w) {
  float sum = 0;
  for (std::int64_t i = h.begin; i < h.end; ++i) {
    for (std::int64_t j = w.begin; j < w.end; ++j) sum += plane[i * width + j];
  }
  return sum;
}

}  // namespace

void max_pool(const blob::MaxPoolT& op, const Operand& x, const Operand& out) {
  const std::int64_t height = x.shape.last(2);
  const std::int64_t width = x.shape.last(1);
  const std::int64_t dilation_h = op.dilation.h();
  const std::int64_t dilation_w = op.dilation.w();
  const auto skip_padding = [](std::int64_t begin, std::int64_t dilation) {
    return begin >= 0 ? begin : begin + (-begin + dilation - 1) / dilation * dilation;
  };
  for_each_window(x, out, [&](const float* plane, std::int64_t h, std::int64_t w) {
    const std::int64_t h_begin = h * op.stride.h() - op.padding.h();
    const std::int64_t w_begin = w * op.stride.w() - op.padding.w();
    const std::int64_t h_end = std::min(h_begin + op.kernel.h() * dilation_h, height);
    const std::int64_t w_end = std::min(w_begin + op.kernel.w() * dilation_w, width);
    float best = -std::numeric_limits<float>::infinity();
    for (std::int64_t i = skip_padding(h_begin, dilation_h); i < h_end; i += dilation_h) {
      for (std::int64_t j = skip_padding(w_begin, dilation_w); j < w_end; j += dilation_w) {
        const float value = plane[i * width + j];
        if (value > best || std::isnan(value)) best = value;
      }
    }
    return best;
  });
}

void average_pool(const blob::AveragePoolT& op, const Operand& x, const Operand& out) {
  const std::int64_t height = x.shape.last(2);
  const std::int64_t width = x.shape.last(1);
  // With its padding behind, and without.
  const auto padded = [](std::int64_t position, std::int64_t stride, std::int64_t padding,
                         std::int64_t kernel, std::int64_t size) {
    const std::int64_t begin = position * stride - padding;
    return Span{begin, std::min(begin + kernel, size + padding)};
  };
  const auto inside = [](Span span, std::int64_t size) {
    return Span{std::max<std::int64_t>(span.begin, 0), std::min(span.end, size)};
  };
  for_each_window(x, out, [&](const float* plane, std::int64_t h, std::int64_t w) {
    const Span h_padded = padded(h, op.stride.h(), op.padding.h(), op.kernel.h(), height);
    const Span w_padded = padded(w, op.stride.w(), op.padding.w(), op.kernel.w(), width);
    const Span h_inside = inside(h_padded, height);
    const Span w_inside = inside(w_padded, width);
    const std::int64_t divisor = op.divisor != 0        ? op.divisor
                                 : op.count_include_pad ? h_padded.size() * w_padded.size()
                                                        : h_inside.size() * w_inside.size();
    return sum_of_window(plane, width, h_inside, w_inside) / static_cast<float>(divisor);
  });
}

void adaptive_average_pool(const Operand& x, const Operand& out) {
  // Output i averages from i * size / count to (i + 1) * size / count, rounded outwards.
  const auto part = [](std::int64_t i, std::int64_t size, std::int64_t count) {
    return Span{i * size / count, ((i + 1) * size + count - 1) / count};
  };
  const std::int64_t height = x.shape.last(2);
  const std::int64_t width = x.shape.last(1);
  for_each_window(x, out, [&](const float* plane, std::int64_t i, std::int64_t j) {
    const Span h = part(i, height, out.shape.last(2));
    const Span w = part(j, width, out.shape.last(1));
    return sum_of_window(plane, width, h, w) / static_cast<float>(h.size() * w.size());
  });
}

}  // namespace graph_backend::kernels
