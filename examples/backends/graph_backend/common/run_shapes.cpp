// SPDX-License-Identifier: MIT
#include "common/run_shapes.hpp"

#include <algorithm>

#include "common/check_graph.hpp"

namespace graph_backend {

using tenon::Args;
using tenon::Error;
using tenon::ScalarType;
using tenon::Status;

RunShapes::RunShapes(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {
  std::uint32_t symbols = 0;
  for (const blob::TensorT& tensor : graph_->tensors) {
    operands_.push_back(largest(tensor));
    for (const std::uint32_t symbol : tensor.symbols) symbols = std::max(symbols, symbol);
  }
  for (const blob::NodeT& node : graph_->nodes) {
    nodes_.emplace_back(inputs_of_nodes_.size(), node.inputs.size());
    for (const TensorId id : node.inputs) inputs_of_nodes_.push_back(&operands_[id]);
  }
  symbol_sizes_.resize(symbols + 1);
}

Status RunShapes::take_sizes(std::size_t index, const blob::TensorT& expected,
                             const tenon::TensorView& found) {
  const auto sizes = found.sizes();
  if (sizes.size() != expected.sizes.size()) {
    return error(Error::InvalidArgument, "argument ", index, ": expected ", expected.sizes.size(),
                 " dimensions, found sizes ", tenon::shape_text(sizes));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::uint32_t symbol = expected.symbols.empty() ? 0 : expected.symbols[i];
    if (symbol == 0 && sizes[i] != expected.sizes[i]) {
      return error(Error::InvalidArgument, "argument ", index, ": size ", i, ": expected ",
                   expected.sizes[i], ", found ", sizes[i]);
    }
    if (sizes[i] < 0 || sizes[i] > expected.sizes[i]) {
      return error(Error::InvalidArgument, "argument ", index, ": size ", i, ": expected 0 to ",
                   expected.sizes[i], ", found ", sizes[i]);
    }
    if (symbol == 0) continue;
    std::int64_t& common = symbol_sizes_[symbol];
    if (common == -1) common = sizes[i];
    if (common != sizes[i]) {
      return error(Error::InvalidArgument, "argument ", index, ": size ", i, ": expected ", common,
                   ", as another input has it, found ", sizes[i]);
    }
  }
  return tenon::ok();
}

Status RunShapes::take_input(const Args& args, std::size_t index) {
  const TensorId id = graph_->inputs[index];
  if (id == no_tensor) return tenon::ok();
  const blob::TensorT& expected = graph_->tensors[id];
  TENON_TRY(const auto tensor, args.tensor(index));
  const auto wanted = static_cast<ScalarType>(expected.scalar_type);
  if (tensor.scalar_type() != wanted) {
    return error(Error::InvalidType, "argument ", index, ": expected dtype ", name_of(wanted),
                 ", found ", name_of(tensor.scalar_type()));
  }
  TENON_RETURN_IF_ERROR(take_sizes(index, expected, tensor));
  Operand& operand = operands_[id];
  if (!std::ranges::equal(operand.shape.sizes(), tensor.sizes())) {
    operand.shape = Shape(tensor.sizes());
    are_current_ = false;
  }
  return tenon::ok();
}

Status RunShapes::infer_all() {
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    const blob::NodeT& node = graph_->nodes[i];
    auto shape = infer(node.op, inputs_of(i));
    if (!shape.ok()) {
      return error(Error::InvalidArgument, "node ", i, " (", name_of(node.op), "): ", shape.text());
    }
    operands_[node.output].shape = *shape;
    const Operand bound = largest(graph_->tensors[node.output]);
    if (operands_[node.output].nbytes() > bound.nbytes()) {
      return error(Error::InvalidArgument, "node ", i, " (", name_of(node.op), "): makes sizes ",
                   text_of(*shape), ", planned were ", text_of(bound.shape));
    }
  }
  are_current_ = true;
  return tenon::ok();
}

Status RunShapes::take_inputs(const Args& args) {
  TENON_RETURN_IF_ERROR(args.expect(graph_->inputs.size() + graph_->outputs.size()));
  std::ranges::fill(symbol_sizes_, -1);
  for (std::size_t i = 0; i < graph_->inputs.size(); ++i) {
    TENON_RETURN_IF_ERROR(take_input(args, i));
  }
  return are_current_ ? tenon::ok() : infer_all();
}

Status RunShapes::resize_outputs(const Args& args) const {
  for (std::size_t i = 0; i < graph_->outputs.size(); ++i) {
    TENON_RETURN_IF_ERROR(
        args.resize(graph_->inputs.size() + i, operands_[graph_->outputs[i]].shape.sizes()));
  }
  return tenon::ok();
}

tenon::Result<std::vector<tenon::NamedData>> find_constants(Graph& graph,
                                                            const tenon::InitContext& context) {
  std::vector<tenon::NamedData> out;
  for (Constant& constant : graph.constants) {
    if (constant.key.empty()) continue;
    const auto map = context.named_data_map();
    if (!map) {
      return error(Error::NotFound, "weights '", constant.key,
                   "': expected in the program's named data, found none");
    }
    TENON_TRY(tenon::NamedData data, map->get_data(constant.key));
    const auto address = reinterpret_cast<std::uintptr_t>(data.bytes().data());
    if (data.bytes().size() != constant.nbytes || address % alignof(std::int64_t) != 0) {
      return error(Error::InvalidExternalData, "weights '", constant.key, "': expected ",
                   constant.nbytes, " bytes, aligned to ", alignof(std::int64_t), ", found ",
                   data.bytes().size());
    }
    constant.data = tenon::aot::SharedBytes::borrow(data.bytes(), nullptr);
    out.push_back(std::move(data));
  }
  return out;
}

}  // namespace graph_backend
