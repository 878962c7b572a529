// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <tenon/core/result.hpp>

#include "common/graph.hpp"
#include "common/shape.hpp"

/// The operators on the CPU, in loops whose innermost one visits neighbours in memory, so that a
/// compiler makes vector instructions of it. All is float32, sums included; float16 and bfloat16
/// are converted. Fast products, convolutions, attention and pooling are in `CpuKernels`; the loops
/// here need nothing, and fold constants ahead of time.
namespace graph_backend {

/// Computes `out`. `infer` returned its sizes for these inputs, and its memory overlaps no input's
/// (Reshape: or is the first input's). Allocates nothing. Threads: any, on different outputs.
///
/// errors: InvalidArgument for an index of Embedding outside of its table.
[[nodiscard]] tenon::Status run(const OperatorUnion& op, Operands inputs, const Operand& out);

namespace kernels {

void binary(const blob::BinaryT& op, const Operand& a, const Operand& b, const Operand& out);
void unary(const blob::UnaryT& op, const Operand& x, const Operand& out);
void matmul(const blob::MatMulT& op, Operands in, const Operand& out);
void convolution(const blob::ConvolutionT& op, Operands in, const Operand& out);
void max_pool(const blob::MaxPoolT& op, const Operand& x, const Operand& out);
void average_pool(const blob::AveragePoolT& op, const Operand& x, const Operand& out);
void adaptive_average_pool(const Operand& x, const Operand& out);
void reduce(const blob::ReduceT& op, const Operand& x, const Operand& out);
void softmax(const blob::SoftmaxT& op, const Operand& x, const Operand& out);
void layer_norm(const blob::LayerNormT& op, Operands in, const Operand& out);
void permute(const blob::PermuteT& op, const Operand& x, const Operand& out);
void reshape(const Operand& x, const Operand& out);
void cat(const blob::CatT& op, Operands in, const Operand& out);
[[nodiscard]] tenon::Status embedding(const blob::EmbeddingT& op, Operands in, const Operand& out);
void attention(const blob::AttentionT& op, Operands in, const Operand& out);
void slice(const blob::SliceT& op, const Operand& x, const Operand& out);
void expand(const Operand& x, const Operand& out);
void compare(const blob::CompareT& op, const Operand& a, const Operand& b, const Operand& out);
void where(Operands in, const Operand& out);
void convert(const Operand& x, const Operand& out);

/// Distance in elements between neighbours of each dimension of a tensor, seen in a larger shape:
/// 0 where it has one element for all of them.
struct Strides {
  std::int64_t of[Shape::max_rank] = {};
};
[[nodiscard]] Strides broadcast_strides(const Shape& shape, const Shape& in) noexcept;

/// Calls `row(out, a)` for each row of `shape`, which is a run of its last dimension: `out` is the
/// offset of the row in a dense tensor, `a[i]` the offset in tensor i.
template <std::size_t N, class Row>
void for_each_row(const Shape& shape, const Strides (&strides)[N], Row&& row) {
  const std::size_t outer = shape.rank() == 0 ? 0 : shape.rank() - 1;
  const std::int64_t length = shape.rank() == 0 ? 1 : shape.last();
  const std::int64_t rows = shape.product(0, outer);
  std::int64_t index[Shape::max_rank] = {};
  std::int64_t offsets[N] = {};
  for (std::int64_t i = 0; i < rows; ++i) {
    row(i * length, offsets);
    for (std::size_t dim = outer; dim-- > 0;) {
      const bool carries = ++index[dim] == shape[dim];
      for (std::size_t n = 0; n < N; ++n) {
        offsets[n] += carries ? -(shape[dim] - 1) * strides[n].of[dim] : strides[n].of[dim];
      }
      if (!carries) break;
      index[dim] = 0;
    }
  }
}

}  // namespace kernels
}  // namespace graph_backend
