// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "runtime/kernels.hpp"
#include "runtime/vectors.hpp"

namespace graph_backend::kernels {

using tenon::BFloat16;
using tenon::Half;
using tenon::ScalarType;

Strides broadcast_strides(const Shape& shape, const Shape& in) noexcept {
  Strides out;
  std::int64_t stride = 1;
  for (std::size_t i = 1; i <= shape.rank(); ++i) {
    out.of[in.rank() - i] = shape.last(i) == 1 ? 0 : stride;
    stride *= shape.last(i);
  }
  return out;
}

namespace {

/// out[i] = f(a[i], b[i]). A step is 1, or 0 for one element that serves all.
template <class F>
GRAPH_BACKEND_INLINE inline void for_row(const float* a, std::int64_t a_step, const float* b,
                                         std::int64_t b_step, float* out, std::int64_t length,
                                         F f) {
  if (a_step == 1 && b_step == 1) {
    for (std::int64_t i = 0; i < length; ++i) out[i] = f(a[i], b[i]);
  } else if (a_step == 1) {
    for (std::int64_t i = 0; i < length; ++i) out[i] = f(a[i], *b);
  } else if (b_step == 1) {
    for (std::int64_t i = 0; i < length; ++i) out[i] = f(*a, b[i]);
  } else {
    std::fill_n(out, length, f(*a, *b));
  }
}

template <class F>
void for_each(const Operand& a, const Operand& b, const Operand& out, F f) {
  const Shape& shape = out.shape;
  const std::int64_t numel = shape.numel();
  if (numel == 0) return;
  const bool same_a = a.shape.numel() == numel;
  const bool same_b = b.shape.numel() == numel;
  // The most frequent cases are one long row.
  if ((same_a || a.shape.numel() == 1) && (same_b || b.shape.numel() == 1)) {
    return with_vectors([&]() GRAPH_BACKEND_INLINE {
      for_row(a.floats(), same_a ? 1 : 0, b.floats(), same_b ? 1 : 0, out.floats_to_write(), numel,
              f);
    });
  }
  const Strides strides[] = {broadcast_strides(a.shape, shape), broadcast_strides(b.shape, shape)};
  const std::size_t last = shape.rank() - 1;
  for_each_row(shape, strides, [&](std::int64_t row, const std::int64_t(&offsets)[2]) {
    with_vectors([&]() GRAPH_BACKEND_INLINE {
      for_row(a.floats() + offsets[0], strides[0].of[last], b.floats() + offsets[1],
              strides[1].of[last], out.floats_to_write() + row, shape[last], f);
    });
  });
}

template <class F>
void for_each(const Operand& x, const Operand& out, F f) {
  with_vectors([&]() GRAPH_BACKEND_INLINE {
    const float* from = x.floats();
    float* to = out.floats_to_write();
    const std::int64_t numel = out.shape.numel();
    for (std::int64_t i = 0; i < numel; ++i) to[i] = f(from[i]);
  });
}

/// As PyTorch's, which is infinite where twice x is.
GRAPH_BACKEND_INLINE inline float gelu(float x) {
  return x * (1.0F + erf_of(x * 0.70710678118654752F)) * 0.5F;
}

GRAPH_BACKEND_INLINE inline float gelu_tanh(float x) {
  constexpr float sqrt_2_over_pi = 0.79788456080286536F;
  return 0.5F * x * (1.0F + tanh_of(sqrt_2_over_pi * (x + 0.044715F * x * x * x)));
}

/// A bound that is NaN makes everything NaN, and so does NaN itself.
GRAPH_BACKEND_INLINE inline float clamp(float x, float min, float max) {
  const float raised = x < min || std::isnan(min) ? min : x;
  return raised > max || std::isnan(max) ? max : raised;
}

}  // namespace

void binary(const blob::BinaryT& op, const Operand& a, const Operand& b, const Operand& out) {
  const float alpha = op.alpha;
  switch (op.kind) {
    case blob::BinaryKind::Add:
      return for_each(a, b, out, [alpha](float x, float y) { return x + alpha * y; });
    case blob::BinaryKind::Sub:
      return for_each(a, b, out, [alpha](float x, float y) { return x - alpha * y; });
    case blob::BinaryKind::Mul:
      return for_each(a, b, out, [](float x, float y) { return x * y; });
    case blob::BinaryKind::Div:
      return for_each(a, b, out, [](float x, float y) { return x / y; });
    case blob::BinaryKind::Maximum:
      return for_each(a, b, out, [](float x, float y) { return x > y || std::isnan(x) ? x : y; });
    case blob::BinaryKind::Minimum:
      return for_each(a, b, out, [](float x, float y) { return x < y || std::isnan(x) ? x : y; });
    case blob::BinaryKind::Pow:
      return for_each(a, b, out, [](float x, float y) { return std::pow(x, y); });
  }
}

void unary(const blob::UnaryT& op, const Operand& x, const Operand& out) {
  const float min = op.min;
  const float max = op.max;
  // Comparisons are written so that NaN stays NaN, as in PyTorch.
  switch (op.kind) {
    case blob::UnaryKind::Relu:
      return for_each(x, out, [](float v) { return v < 0 ? 0.0F : v; });
    case blob::UnaryKind::Clamp:
      return for_each(x, out, [min, max](float v) { return clamp(v, min, max); });
    case blob::UnaryKind::Sigmoid:
      return for_each(x, out, [](float v) { return sigmoid(v); });
    case blob::UnaryKind::Tanh:
      return for_each(x, out, [](float v) { return tanh_of(v); });
    case blob::UnaryKind::Gelu:
      return for_each(x, out, [](float v) { return gelu(v); });
    case blob::UnaryKind::GeluTanh:
      return for_each(x, out, [](float v) { return gelu_tanh(v); });
    case blob::UnaryKind::Neg:
      return for_each(x, out, [](float v) { return -v; });
    case blob::UnaryKind::Exp:
      return for_each(x, out, [](float v) { return exp_of(v); });
    case blob::UnaryKind::Sqrt:
      return for_each(x, out, [](float v) { return std::sqrt(v); });
    case blob::UnaryKind::Rsqrt:
      return for_each(x, out, [](float v) { return 1.0F / std::sqrt(v); });
    case blob::UnaryKind::Abs:
      return for_each(x, out, [](float v) { return std::abs(v); });
    case blob::UnaryKind::Silu:
      return for_each(x, out, [](float v) { return v * sigmoid(v); });
    case blob::UnaryKind::HardSigmoid:
      return for_each(x, out, [](float v) { return clamp(v + 3, 0, 6) / 6; });
    case blob::UnaryKind::HardSwish:
      return for_each(x, out, [](float v) { return v * clamp(v + 3, 0, 6) / 6; });
    case blob::UnaryKind::Log:
      return for_each(x, out, [](float v) { return std::log(v); });
    case blob::UnaryKind::Cos:
      return for_each(x, out, [](float v) { return std::cos(v); });
    case blob::UnaryKind::Sin:
      return for_each(x, out, [](float v) { return std::sin(v); });
    case blob::UnaryKind::RoundToHalf:
      return for_each(x, out, [](float v) { return Half::from_float(v).to_float(); });
    case blob::UnaryKind::RoundToBFloat16:
      return for_each(x, out, [](float v) { return BFloat16::from_float(v).to_float(); });
  }
}

void convert(const Operand& x, const Operand& out) {
  const auto each = [&]<class From, class To>(const From* from, To* to, auto f) {
    with_vectors([&]() GRAPH_BACKEND_INLINE {
      const std::int64_t numel = out.shape.numel();
      for (std::int64_t i = 0; i < numel; ++i) to[i] = f(from[i]);
    });
  };
  const auto either = [&]<class Short>(Short) {
    if (x.scalar_type == ScalarType::Float) {
      each(x.floats(), reinterpret_cast<Short*>(out.data),
           [](float v) { return Short::from_float(v); });
    } else {
      each(reinterpret_cast<const Short*>(x.data), out.floats_to_write(),
           [](Short v) { return v.to_float(); });
    }
  };
  const bool is_half = x.scalar_type == ScalarType::Half || out.scalar_type == ScalarType::Half;
  return is_half ? either(Half()) : either(BFloat16());
}

}  // namespace graph_backend::kernels
