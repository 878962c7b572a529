// SPDX-License-Identifier: MIT
//
// Operators that compute nothing, and the choice of the kernel.
#include <algorithm>
#include <cstring>

#include "runtime/kernels.hpp"

namespace graph_backend {
namespace kernels {

void permute(const blob::PermuteT& op, const Operand& x, const Operand& out) {
  if (out.shape.numel() == 0) return;
  if (op.dims.empty()) {
    *out.floats_to_write() = *x.floats();
    return;
  }
  Strides strides[1];
  for (std::size_t i = 0; i < op.dims.size(); ++i) {
    strides[0].of[i] = x.shape.product(op.dims[i] + std::size_t{1}, x.shape.rank());
  }
  const std::size_t last = out.shape.rank() - 1;
  const std::int64_t step = strides[0].of[last];
  for_each_row(out.shape, strides, [&](std::int64_t row, const std::int64_t(&offsets)[1]) {
    const float* from = x.floats() + offsets[0];
    float* to = out.floats_to_write() + row;
    for (std::int64_t i = 0; i < out.shape[last]; ++i) to[i] = from[i * step];
  });
}

void reshape(const Operand& x, const Operand& out) {
  if (out.data != x.data && out.nbytes() != 0) std::memmove(out.data, x.data, out.nbytes());
}

void cat(const blob::CatT& op, Operands in, const Operand& out) {
  if (out.shape.numel() == 0) return;
  const std::int64_t outer = out.shape.product(0, op.dim);
  float* to = out.floats_to_write();
  for (std::int64_t i = 0; i < outer; ++i) {
    for (const Operand* part : in) {
      const std::int64_t length = part->shape.product(op.dim, part->shape.rank());
      if (length != 0) to = std::copy_n(part->floats() + i * length, length, to);
    }
  }
}

void slice(const blob::SliceT& op, const Operand& x, const Operand& out) {
  if (out.shape.numel() == 0) return;
  const std::int64_t outer = out.shape.product(0, op.dim);
  const std::int64_t inner = out.shape.product(op.dim + std::size_t{1}, out.shape.rank());
  const std::int64_t distance = op.step * inner;
  float* to = out.floats_to_write();
  for (std::int64_t i = 0; i < outer; ++i) {
    const float* from = x.floats() + (i * x.shape[op.dim] + op.start) * inner;
    if (op.step == 1) {
      to = std::copy_n(from, op.count * inner, to);
      continue;
    }
    for (std::int64_t k = 0; k < op.count; ++k) to = std::copy_n(from + k * distance, inner, to);
  }
}

void expand(const Operand& x, const Operand& out) {
  if (out.shape.numel() == 0) return;
  const Strides strides[] = {broadcast_strides(x.shape, out.shape)};
  const std::size_t last = out.shape.rank() == 0 ? 0 : out.shape.rank() - 1;
  const std::int64_t length = out.shape.rank() == 0 ? 1 : out.shape[last];
  for_each_row(out.shape, strides, [&](std::int64_t row, const std::int64_t(&offsets)[1]) {
    const float* from = x.floats() + offsets[0];
    float* to = out.floats_to_write() + row;
    if (strides[0].of[last] == 0) {
      std::fill_n(to, length, *from);
    } else {
      std::copy_n(from, length, to);
    }
  });
}

tenon::Status embedding(const blob::EmbeddingT& op, Operands in, const Operand& out) {
  const std::int64_t count = in[0]->shape[0];
  const std::int64_t width = in[0]->shape[1];
  const auto* indices = reinterpret_cast<const std::int64_t*>(in[1]->data);
  float* to = out.floats_to_write();
  for (std::int64_t i = 0; i < in[1]->shape.numel(); ++i) {
    const std::int64_t index = op.wraps && indices[i] < 0 ? indices[i] + count : indices[i];
    if (index < 0 || index >= count) {
      return error(tenon::Error::InvalidArgument, "index ", i, " is ", indices[i], ", expected ",
                   op.wraps ? -count : 0, " to ", count - 1);
    }
    if (width != 0) to = std::copy_n(in[0]->floats() + index * width, width, to);
  }
  return tenon::ok();
}

}  // namespace kernels

namespace {

struct Run {
  Operands in;
  const Operand& out;

  tenon::Status operator()(const blob::BinaryT& op) const {
    return kernels::binary(op, *in[0], *in[1], out), tenon::ok();
  }
  tenon::Status operator()(const blob::UnaryT& op) const {
    return kernels::unary(op, *in[0], out), tenon::ok();
  }
  tenon::Status operator()(const blob::MatMulT& op) const {
    return kernels::matmul(op, in, out), tenon::ok();
  }
  tenon::Status operator()(const blob::PermuteT& op) const {
    return kernels::permute(op, *in[0], out), tenon::ok();
  }
  tenon::Status operator()(const blob::ReshapeT&) const {
    return kernels::reshape(*in[0], out), tenon::ok();
  }
  tenon::Status operator()(const blob::ConvolutionT& op) const {
    return kernels::convolution(op, in, out), tenon::ok();
  }
  tenon::Status operator()(const blob::MaxPoolT& op) const {
    return kernels::max_pool(op, *in[0], out), tenon::ok();
  }
  tenon::Status operator()(const blob::AveragePoolT& op) const {
    return kernels::average_pool(op, *in[0], out), tenon::ok();
  }
  tenon::Status operator()(const blob::AdaptiveAveragePoolT&) const {
    return kernels::adaptive_average_pool(*in[0], out), tenon::ok();
  }
  tenon::Status operator()(const blob::ReduceT& op) const {
    return kernels::reduce(op, *in[0], out), tenon::ok();
  }
  tenon::Status operator()(const blob::SoftmaxT& op) const {
    return kernels::softmax(op, *in[0], out), tenon::ok();
  }
  tenon::Status operator()(const blob::CatT& op) const {
    return kernels::cat(op, in, out), tenon::ok();
  }
  tenon::Status operator()(const blob::EmbeddingT& op) const {
    return kernels::embedding(op, in, out);
  }
  tenon::Status operator()(const blob::AttentionT& op) const {
    return kernels::attention(op, in, out), tenon::ok();
  }
  tenon::Status operator()(const blob::CompareT& op) const {
    return kernels::compare(op, *in[0], *in[1], out), tenon::ok();
  }
  tenon::Status operator()(const blob::WhereT&) const {
    return kernels::where(in, out), tenon::ok();
  }
  tenon::Status operator()(const blob::ConvertT&) const {
    return kernels::convert(*in[0], out), tenon::ok();
  }
  tenon::Status operator()(const blob::SliceT& op) const {
    return kernels::slice(op, *in[0], out), tenon::ok();
  }
  tenon::Status operator()(const blob::ExpandT&) const {
    return kernels::expand(*in[0], out), tenon::ok();
  }
  tenon::Status operator()(const blob::LayerNormT& op) const {
    return kernels::layer_norm(op, in, out), tenon::ok();
  }
};

}  // namespace

tenon::Status run(const OperatorUnion& op, Operands inputs, const Operand& out) {
  return visit(op, Run{inputs, out});
}

}  // namespace graph_backend
