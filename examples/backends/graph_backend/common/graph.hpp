// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <vector>

#include "graph_generated.h"

/// The form in which both halves of the backend hold a graph. Tensors, nodes and operators are
/// structs that flatc makes of graph.fbs, so that the schema is the only place that defines them.
namespace graph_backend {

/// Version of the blobs that are written, and the first that is read. It increases when an old
/// reader would compute something else from a new blob.
inline constexpr std::uint32_t payload_version = 3;
inline constexpr std::uint32_t first_payload_version = 1;

/// Number of a tensor in its graph.
using TensorId = std::uint32_t;
inline constexpr TensorId no_tensor = UINT32_MAX;

using blob::OperatorUnion;

/// Elements known ahead of time.
struct Constant {
  /// In the named data of the program; empty when the elements are in the blob.
  std::string key;
  std::uint64_t nbytes = 0;
  /// Of a graph that was read from a blob: empty when the key is to be asked for.
  tenon::aot::SharedBytes data;
  /// Its origin ("layer.weight"). Not stored.
  std::string name;
};

struct Graph {
  std::vector<blob::TensorT> tensors;
  std::vector<blob::NodeT> nodes;  ///< In the order in which they run.
  std::vector<Constant> constants;
  std::vector<TensorId> inputs;  ///< `no_tensor` for an argument that is not read.
  std::vector<TensorId> outputs;
  std::uint64_t scratch_bytes = 0;
};

/// "MatMul", for errors and events.
[[nodiscard]] inline std::string_view name_of(const OperatorUnion& op) noexcept {
  return blob::EnumNameOperator(op.type);
}

/// Calls `use` with the attributes of an operator, which is one of those that the schema names:
/// `read_graph` lets no other in.
template <class Use>
decltype(auto) visit(const OperatorUnion& op, Use&& use) {
  switch (op.type) {
    case blob::Operator::Unary:
      return use(*op.AsUnary());
    case blob::Operator::MatMul:
      return use(*op.AsMatMul());
    case blob::Operator::Permute:
      return use(*op.AsPermute());
    case blob::Operator::Reshape:
      return use(*op.AsReshape());
    case blob::Operator::Convolution:
      return use(*op.AsConvolution());
    case blob::Operator::MaxPool:
      return use(*op.AsMaxPool());
    case blob::Operator::AveragePool:
      return use(*op.AsAveragePool());
    case blob::Operator::AdaptiveAveragePool:
      return use(*op.AsAdaptiveAveragePool());
    case blob::Operator::Reduce:
      return use(*op.AsReduce());
    case blob::Operator::Softmax:
      return use(*op.AsSoftmax());
    case blob::Operator::Cat:
      return use(*op.AsCat());
    case blob::Operator::Embedding:
      return use(*op.AsEmbedding());
    case blob::Operator::LayerNorm:
      return use(*op.AsLayerNorm());
    case blob::Operator::Attention:
      return use(*op.AsAttention());
    case blob::Operator::Slice:
      return use(*op.AsSlice());
    case blob::Operator::Expand:
      return use(*op.AsExpand());
    case blob::Operator::Compare:
      return use(*op.AsCompare());
    case blob::Operator::Where:
      return use(*op.AsWhere());
    case blob::Operator::Convert:
      return use(*op.AsConvert());
    default:
      return use(*op.AsBinary());
  }
}

}  // namespace graph_backend
