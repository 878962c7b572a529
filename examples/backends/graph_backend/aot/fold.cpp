// SPDX-License-Identifier: MIT
#include "aot/graph_builder.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "common/check_graph.hpp"
#include "runtime/kernels.hpp"

namespace graph_backend {

using blob::Place;
using tenon::Error;
using tenon::Status;
using tenon::aot::SharedBytes;

namespace {

bool is_constant(const Graph& graph, TensorId id) {
  return graph.tensors[id].place == Place::Constant;
}

Operand constant_operand(const Graph& graph, TensorId id) {
  Operand out = largest(graph.tensors[id]);
  // Kernels write to outputs alone.
  out.data = const_cast<std::byte*>(graph.constants[graph.tensors[id].index].data.bytes().data());
  return out;
}

std::span<const float> floats(const Graph& graph, TensorId id) {
  const Operand operand = constant_operand(graph, id);
  return {operand.floats(), static_cast<std::size_t>(operand.shape.numel())};
}

/// Makes a tensor constant. Its name lists its sources.
void make_constant(Graph& graph, TensorId id, std::vector<std::byte> bytes, std::string name) {
  blob::TensorT& tensor = graph.tensors[id];
  tensor.place = Place::Constant;
  tensor.index = static_cast<std::uint32_t>(graph.constants.size());
  const std::uint64_t nbytes = bytes.size();
  graph.constants.push_back({{}, nbytes, SharedBytes(std::move(bytes)), std::move(name)});
}

TensorId add_constant(Graph& graph, std::vector<std::int32_t> sizes,
                      const std::vector<float>& elements, std::string name) {
  blob::TensorT tensor;
  tensor.scalar_type = static_cast<std::int8_t>(tenon::ScalarType::Float);
  tensor.sizes = std::move(sizes);
  graph.tensors.push_back(std::move(tensor));
  const auto id = static_cast<TensorId>(graph.tensors.size() - 1);
  const auto bytes = std::as_bytes(std::span(elements));
  make_constant(graph, id, {bytes.begin(), bytes.end()}, std::move(name));
  return id;
}

const std::string& constant_name(const Graph& graph, TensorId id) {
  return graph.constants[graph.tensors[id].index].name;
}

Status compute(Graph& graph, const blob::NodeT& node) {
  std::vector<Operand> operands;
  for (const TensorId id : node.inputs) operands.push_back(constant_operand(graph, id));
  std::vector<const Operand*> inputs;
  for (const Operand& operand : operands) inputs.push_back(&operand);
  Operand out = largest(graph.tensors[node.output]);
  std::vector<std::byte> bytes(out.nbytes());
  out.data = bytes.data();
  TENON_RETURN_IF_ERROR(run(node.op, inputs, out));
  std::string name = constant_name(graph, node.inputs[0]);
  make_constant(graph, node.output, std::move(bytes), std::move(name));
  return tenon::ok();
}

/// The effect of a node on each channel of a tensor [N, C, H, W].
struct ByChannel {
  TensorId x;
  std::vector<float> numbers;
  bool multiplies;
};

/// Nothing unless `node` multiplies or adds one constant a channel.
std::optional<ByChannel> by_channel(const Graph& graph, const blob::NodeT& node) {
  const auto* op = node.op.AsBinary();
  const bool multiplies = op && op->kind == blob::BinaryKind::Mul;
  if (!multiplies && !(op && op->kind == blob::BinaryKind::Add && op->alpha == 1)) return {};
  const bool swapped = is_constant(graph, node.inputs[0]);
  const TensorId x = node.inputs[swapped ? 1 : 0];
  const TensorId constant = node.inputs[swapped ? 0 : 1];
  if (is_constant(graph, x) || !is_constant(graph, constant)) return {};
  const Shape out = largest(graph.tensors[node.output]).shape;
  if (out.rank() != 4 || largest(graph.tensors[x]).shape != out) return {};
  // [C, 1, 1], [1, C, 1, 1] or a single number.
  const Shape shape = largest(graph.tensors[constant]).shape;
  const std::int64_t channels = shape.rank() >= 3 ? shape.last(3) : 1;
  if (shape.numel() != channels || (channels != out[1] && channels != 1)) return {};
  const auto found = floats(graph, constant);
  std::vector<float> numbers(found.begin(), found.end());
  numbers.resize(static_cast<std::size_t>(out[1]), channels == 1 ? found[0] : 0.0F);
  return ByChannel{x, std::move(numbers), multiplies};
}

/// Gives the convolution new constants, so that it computes what the pair did.
void change_convolution(Graph& graph, blob::NodeT& conv, const ByChannel& change) {
  const auto outputs = change.numbers.size();
  std::vector<float> bias(outputs);
  if (conv.inputs.size() == 3) std::ranges::copy(floats(graph, conv.inputs[2]), bias.begin());
  if (change.multiplies) {
    const auto before = floats(graph, conv.inputs[1]);
    std::vector<float> weight(before.begin(), before.end());
    const std::size_t each = weight.size() / outputs;
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] *= change.numbers[i / each];
    conv.inputs[1] = add_constant(graph, graph.tensors[conv.inputs[1]].sizes, weight,
                                  constant_name(graph, conv.inputs[1]));
    if (conv.inputs.size() == 2) return;
    for (std::size_t o = 0; o < outputs; ++o) bias[o] *= change.numbers[o];
  } else {
    for (std::size_t o = 0; o < outputs; ++o) bias[o] += change.numbers[o];
  }
  conv.inputs.resize(2);
  conv.inputs.push_back(add_constant(graph, {static_cast<std::int32_t>(outputs)}, bias,
                                     constant_name(graph, conv.inputs[1]) + ".bias"));
}

/// How often each tensor is read, by nodes and as an output.
std::vector<std::size_t> count_uses(const Graph& graph) {
  std::vector<std::size_t> uses(graph.tensors.size());
  for (const blob::NodeT& node : graph.nodes) {
    for (const TensorId id : node.inputs) ++uses[id];
  }
  for (const TensorId id : graph.outputs) ++uses[id];
  return uses;
}

/// Removes the nodes for which `keep` is false.
void filter_nodes(Draft& draft, const std::vector<bool>& keep) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < keep.size(); ++i) {
    if (!keep[i]) continue;
    if (next != i) {
      draft.graph.nodes[next] = std::move(draft.graph.nodes[i]);
      draft.handles[next] = std::move(draft.handles[i]);
    }
    ++next;
  }
  draft.graph.nodes.resize(next);
  draft.handles.resize(next);
}

}  // namespace

Status fold_constants(Draft& draft) {
  Graph& graph = draft.graph;
  std::vector<bool> keep(graph.nodes.size(), true);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const blob::NodeT& node = graph.nodes[i];
    if (!std::ranges::all_of(node.inputs, [&](TensorId id) { return is_constant(graph, id); })) {
      continue;
    }
    TENON_RETURN_IF_ERROR(compute(graph, node));
    keep[i] = false;
  }
  filter_nodes(draft, keep);
  return tenon::ok();
}

void fold_into_convolutions(Draft& draft) {
  Graph& graph = draft.graph;
  const auto uses = count_uses(graph);
  std::vector<std::optional<std::size_t>> made_by(graph.tensors.size());
  std::vector<bool> keep(graph.nodes.size(), true);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    made_by[graph.nodes[i].output] = i;
    const auto change = by_channel(graph, graph.nodes[i]);
    if (!change || uses[change->x] != 1 || !made_by[change->x]) continue;
    const std::size_t at = *made_by[change->x];
    blob::NodeT& conv = graph.nodes[at];
    const bool constant_weights = std::all_of(conv.inputs.begin() + 1, conv.inputs.end(),
                                              [&](TensorId id) { return is_constant(graph, id); });
    if (conv.op.type != blob::Operator::Convolution || !constant_weights) continue;
    change_convolution(graph, conv, *change);
    conv.output = graph.nodes[i].output;
    made_by[conv.output] = at;
    auto& handles = draft.handles[at];
    for (const std::uint32_t handle : draft.handles[i]) {
      if (std::ranges::find(handles, handle) == handles.end()) handles.push_back(handle);
    }
    keep[i] = false;
  }
  filter_nodes(draft, keep);
}

void merge_turns(Draft& draft) {
  Graph& graph = draft.graph;
  std::vector<const blob::NodeT*> made_by(graph.tensors.size());
  for (blob::NodeT& node : graph.nodes) {
    made_by[node.output] = &node;
    auto* product = node.op.AsMatMul();
    const blob::NodeT* turn = product ? made_by[node.inputs[1]] : nullptr;
    if (!turn || turn->op.type != blob::Operator::Permute) continue;
    auto dims = turn->op.AsPermute()->dims;
    std::swap(dims[dims.size() - 2], dims.back());
    if (!std::ranges::is_sorted(dims)) continue;
    node.inputs[1] = turn->inputs[0];
    product->transposed = !product->transposed;
  }
}

void drop_unused(Draft& draft) {
  Graph& graph = draft.graph;
  std::vector<bool> needed(graph.tensors.size());
  for (const TensorId id : graph.outputs) needed[id] = true;
  std::vector<bool> keep(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    keep[i] = needed[graph.nodes[i].output];
    if (!keep[i]) continue;
    for (const TensorId id : graph.nodes[i].inputs) needed[id] = true;
  }
  filter_nodes(draft, keep);
  for (const TensorId id : graph.inputs) {
    if (id != no_tensor) needed[id] = true;
  }

  // The tensors that are left get new numbers, and so do the constants.
  std::vector<TensorId> numbers(needed.size(), no_tensor);
  std::vector<blob::TensorT> tensors;
  std::vector<Constant> constants;
  std::vector<std::optional<std::uint32_t>> moved(graph.constants.size());
  for (TensorId id = 0; id < needed.size(); ++id) {
    if (!needed[id]) continue;
    numbers[id] = static_cast<TensorId>(tensors.size());
    blob::TensorT& tensor = tensors.emplace_back(std::move(graph.tensors[id]));
    if (tensor.place != Place::Constant) continue;
    auto& number = moved[tensor.index];
    if (!number) {
      number = static_cast<std::uint32_t>(constants.size());
      constants.push_back(std::move(graph.constants[tensor.index]));
    }
    tensor.index = *number;
  }
  const auto renumber = [&](std::vector<TensorId>& ids) {
    for (TensorId& id : ids) id = id == no_tensor ? no_tensor : numbers[id];
  };
  for (blob::NodeT& node : graph.nodes) {
    renumber(node.inputs);
    node.output = numbers[node.output];
  }
  renumber(graph.inputs);
  renumber(graph.outputs);
  graph.tensors = std::move(tensors);
  graph.constants = std::move(constants);
}

}  // namespace graph_backend
