// SPDX-License-Identifier: MIT
//
// Comparisons, and choices by a condition.
#include "runtime/kernels.hpp"

namespace graph_backend::kernels {
namespace {

template <class F>
void compare_each(const Operand& a, const Operand& b, const Operand& out, F f) {
  if (out.shape.numel() == 0) return;
  const Strides strides[] = {broadcast_strides(a.shape, out.shape),
                             broadcast_strides(b.shape, out.shape)};
  const std::size_t last = out.shape.rank() == 0 ? 0 : out.shape.rank() - 1;
  const std::int64_t length = out.shape.rank() == 0 ? 1 : out.shape[last];
  for_each_row(out.shape, strides, [&](std::int64_t row, const std::int64_t(&offsets)[2]) {
    const float* x = a.floats() + offsets[0];
    const float* y = b.floats() + offsets[1];
    std::byte* to = out.data + row;
    for (std::int64_t i = 0; i < length; ++i) {
      to[i] = std::byte{f(x[i * strides[0].of[last]], y[i * strides[1].of[last]])};
    }
  });
}

}  // namespace

void compare(const blob::CompareT& op, const Operand& a, const Operand& b, const Operand& out) {
  switch (op.kind) {
    case blob::CompareKind::Eq:
      return compare_each(a, b, out, [](float x, float y) { return x == y; });
    case blob::CompareKind::Ne:
      return compare_each(a, b, out, [](float x, float y) { return x != y; });
    case blob::CompareKind::Lt:
      return compare_each(a, b, out, [](float x, float y) { return x < y; });
    case blob::CompareKind::Le:
      return compare_each(a, b, out, [](float x, float y) { return x <= y; });
    case blob::CompareKind::Gt:
      return compare_each(a, b, out, [](float x, float y) { return x > y; });
    case blob::CompareKind::Ge:
      return compare_each(a, b, out, [](float x, float y) { return x >= y; });
  }
}

void where(Operands in, const Operand& out) {
  if (out.shape.numel() == 0) return;
  const Strides strides[] = {broadcast_strides(in[0]->shape, out.shape),
                             broadcast_strides(in[1]->shape, out.shape),
                             broadcast_strides(in[2]->shape, out.shape)};
  const std::size_t last = out.shape.rank() == 0 ? 0 : out.shape.rank() - 1;
  const std::int64_t length = out.shape.rank() == 0 ? 1 : out.shape[last];
  for_each_row(out.shape, strides, [&](std::int64_t row, const std::int64_t(&offsets)[3]) {
    const std::byte* condition = in[0]->data + offsets[0];
    const float* a = in[1]->floats() + offsets[1];
    const float* b = in[2]->floats() + offsets[2];
    float* to = out.floats_to_write() + row;
    for (std::int64_t i = 0; i < length; ++i) {
      const bool chosen = condition[i * strides[0].of[last]] != std::byte{0};
      to[i] = chosen ? a[i * strides[1].of[last]] : b[i * strides[2].of[last]];
    }
  });
}

}  // namespace graph_backend::kernels
