// SPDX-License-Identifier: MIT
#include "aot/graph_builder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/check_graph.hpp"

namespace graph_backend {

using blob::Place;

namespace {

/// A tensor of the same sizes that is made of `id` by copying.
TensorId add_copy(Draft& draft, TensorId id) {
  Graph& graph = draft.graph;
  blob::TensorT copy = graph.tensors[id];
  copy.place = Place::Scratch;
  copy.index = 0;
  copy.symbols.clear();
  blob::ReshapeT same;
  for (std::size_t i = 0; i < copy.sizes.size(); ++i) {
    same.sizes.emplace_back(1, static_cast<std::int32_t>(i));
  }
  graph.tensors.push_back(std::move(copy));
  blob::NodeT& node = graph.nodes.emplace_back();
  node.op = make_operator(std::move(same));
  node.inputs = {id};
  node.output = static_cast<TensorId>(graph.tensors.size() - 1);
  draft.handles.emplace_back();
  return node.output;
}

void place_outputs(Draft& draft) {
  Graph& graph = draft.graph;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    // Tensors that are placed already are inputs, constants, and outputs before this one.
    if (graph.tensors[graph.outputs[i]].place != Place::Scratch) {
      graph.outputs[i] = add_copy(draft, graph.outputs[i]);
    }
    blob::TensorT& tensor = graph.tensors[graph.outputs[i]];
    tensor.place = Place::Output;
    tensor.index = static_cast<std::uint32_t>(i);
  }
  // A tensor that is only reshaped to become an output is computed there, too.
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const blob::NodeT& node = graph.nodes[i];
    if (node.op.type != blob::Operator::Reshape) continue;
    blob::TensorT& in = graph.tensors[node.inputs[0]];
    const blob::TensorT& out = graph.tensors[node.output];
    if (in.place != Place::Scratch || out.place != Place::Output) continue;
    in.place = out.place;
    in.index = out.index;
  }
}

/// Tensors that share one piece of scratch memory, from the node that makes it to the last that
/// reads it.
struct Piece {
  std::size_t first, last;
  std::uint64_t nbytes;
  std::uint64_t offset = 0;
};

/// The lowest offset for `piece` among those that have theirs.
std::uint64_t find_offset(const Piece& piece, const std::vector<const Piece*>& placed) {
  std::vector<const Piece*> alive;
  for (const Piece* other : placed) {
    if (other->first <= piece.last && piece.first <= other->last) alive.push_back(other);
  }
  std::ranges::sort(alive, {}, &Piece::offset);
  std::uint64_t offset = 0;
  for (const Piece* other : alive) {
    if (offset + piece.nbytes <= other->offset) break;
    offset = std::max(offset, other->offset + other->nbytes);
  }
  return offset;
}

}  // namespace

void plan_memory(Draft& draft) {
  place_outputs(draft);
  Graph& graph = draft.graph;
  constexpr std::size_t none = SIZE_MAX;
  std::vector<std::size_t> piece_of(graph.tensors.size(), none);
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const blob::NodeT& node = graph.nodes[i];
    for (const TensorId id : node.inputs) {
      if (piece_of[id] != none) pieces[piece_of[id]].last = i;
    }
    blob::TensorT& out = graph.tensors[node.output];
    if (out.place != Place::Scratch) continue;
    if (node.op.type == blob::Operator::Reshape) {
      const blob::TensorT& in = graph.tensors[node.inputs[0]];
      out.place = in.place;
      out.index = in.index;
      piece_of[node.output] = piece_of[node.inputs[0]];
    } else {
      piece_of[node.output] = pieces.size();
      pieces.push_back({i, i, align_up(largest(out).nbytes())});
    }
  }

  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return pieces[i].nbytes; });
  std::vector<const Piece*> placed;
  for (const std::size_t i : order) {
    pieces[i].offset = find_offset(pieces[i], placed);
    placed.push_back(&pieces[i]);
    graph.scratch_bytes = std::max(graph.scratch_bytes, pieces[i].offset + pieces[i].nbytes);
  }
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (piece_of[id] != none) graph.tensors[id].offset = pieces[piece_of[id]].offset;
  }
}

}  // namespace graph_backend
