// SPDX-License-Identifier: MIT
#include "runtime/model.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/check_graph.hpp"
#include "runtime/kernels.hpp"

namespace graph_backend {

using blob::Place;
using tenon::Args;
using tenon::Error;
using tenon::ScalarType;
using tenon::Status;

tenon::Result<Model> Model::load(Graph graph, const tenon::InitContext& context) {
  Model model(std::move(graph));
  const Graph& loaded = model.graph_;
  TENON_RETURN_IF_ERROR(model.find_constants(context));
  if (loaded.scratch_bytes != 0) {
    const auto size = static_cast<std::size_t>(loaded.scratch_bytes);
    model.scratch_ =
        static_cast<std::byte*>(context.runtime_allocator().allocate(size, scratch_alignment));
    if (!model.scratch_) {
      return error(Error::MemoryAllocationFailed, "no memory: expected ", size,
                   " bytes of scratch from the host");
    }
  }
  std::uint32_t symbols = 0;
  for (TensorId id = 0; id < loaded.tensors.size(); ++id) {
    const blob::TensorT& tensor = loaded.tensors[id];
    Operand& operand = model.operands_.emplace_back(largest(tensor));
    for (const std::uint32_t symbol : tensor.symbols) symbols = std::max(symbols, symbol);
    if (tensor.place == Place::Constant) {
      // Kernels write to outputs alone, and those are no constants.
      operand.data = const_cast<std::byte*>(loaded.constants[tensor.index].data.bytes().data());
    } else if (tensor.place == Place::Scratch) {
      operand.data = model.scratch_ ? model.scratch_ + tensor.offset : nullptr;
    } else {
      model.moving_.push_back(id);
    }
  }
  for (const blob::NodeT& node : loaded.nodes) {
    model.nodes_.push_back({model.inputs_of_nodes_.size(), node.inputs.size()});
    for (const TensorId id : node.inputs) model.inputs_of_nodes_.push_back(&model.operands_[id]);
  }
  model.arguments_.resize(loaded.inputs.size() + loaded.outputs.size());
  model.symbol_sizes_.resize(symbols + 1);
  return model;
}

std::uint64_t Model::bytes_for(const Graph& graph) noexcept {
  std::uint64_t lists = graph.tensors.size() * (sizeof(blob::TensorT) + sizeof(Operand));
  for (const blob::TensorT& tensor : graph.tensors) {
    lists += tensor.sizes.size() * (sizeof(std::int64_t) + sizeof(std::uint32_t));
  }
  for (const blob::NodeT& node : graph.nodes) {
    lists += sizeof(blob::NodeT) + sizeof(Node) +
             node.inputs.size() * (sizeof(TensorId) + sizeof(const Operand*));
  }
  return graph.scratch_bytes + lists;
}

Status Model::find_constants(const tenon::InitContext& context) {
  for (Constant& constant : graph_.constants) {
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
    named_data_.push_back(std::move(data));
  }
  return tenon::ok();
}

Operands Model::inputs_of(std::size_t node) const {
  return Operands(inputs_of_nodes_).subspan(nodes_[node].first_input, nodes_[node].num_inputs);
}

Status Model::take_sizes(std::size_t index, const blob::TensorT& expected,
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

Status Model::take_input(const Args& args, std::size_t index) {
  const TensorId id = graph_.inputs[index];
  if (id == no_tensor) return tenon::ok();
  const blob::TensorT& expected = graph_.tensors[id];
  TENON_TRY(const auto tensor,
            args.tensor(index, static_cast<ScalarType>(expected.scalar_type), tenon::Access::Read));
  TENON_RETURN_IF_ERROR(take_sizes(index, expected, tensor));
  Operand& operand = operands_[id];
  if (!std::ranges::equal(operand.shape.sizes(), tensor.sizes())) {
    operand.shape = Shape(tensor.sizes());
    shapes_are_current_ = false;
  }
  // Nothing writes to it: `check_graph` saw to that.
  arguments_[index] = {static_cast<std::byte*>(tensor.data()), tensor.nbytes()};
  return tenon::ok();
}

Status Model::infer_shapes() {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const blob::NodeT& node = graph_.nodes[i];
    auto shape = infer(node.op, inputs_of(i));
    if (!shape.ok()) {
      return error(Error::InvalidArgument, "node ", i, " (", name_of(node.op), "): ", shape.text());
    }
    operands_[node.output].shape = *shape;
    const Operand bound = largest(graph_.tensors[node.output]);
    if (operands_[node.output].nbytes() > bound.nbytes()) {
      return error(Error::InvalidArgument, "node ", i, " (", name_of(node.op), "): makes sizes ",
                   text_of(*shape), ", planned were ", text_of(bound.shape));
    }
  }
  shapes_are_current_ = true;
  return tenon::ok();
}

Status Model::take_output(const Args& args, std::size_t index) {
  const std::size_t arg = graph_.inputs.size() + index;
  const Operand& operand = operands_[graph_.outputs[index]];
  TENON_RETURN_IF_ERROR(args.resize(arg, operand.shape.sizes()));
  TENON_TRY(const auto tensor, args.tensor(arg, operand.scalar_type, tenon::Access::Write));
  arguments_[arg] = {static_cast<std::byte*>(tensor.data()), tensor.nbytes()};
  return tenon::ok();
}

Status Model::place_tensors() {
  for (const TensorId id : moving_) {
    const blob::TensorT& tensor = graph_.tensors[id];
    const std::size_t first = tensor.place == Place::Output ? graph_.inputs.size() : 0;
    const Argument& argument = arguments_[first + tensor.index];
    if (operands_[id].nbytes() > argument.nbytes) {
      return error(Error::InvalidArgument, "argument ", first + tensor.index, ": expected ",
                   operands_[id].nbytes(), " bytes for tensor ", id, ", found ", argument.nbytes);
    }
    operands_[id].data = argument.data;
  }
  return tenon::ok();
}

Status Model::execute(tenon::ExecutionContext& context, const Args& args,
                      tenon::CancelFlag cancelled, const tenon::IntermediateRecorder& recorder) {
  TENON_RETURN_IF_ERROR(args.expect(arguments_.size()));
  std::ranges::fill(symbol_sizes_, -1);
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) TENON_RETURN_IF_ERROR(take_input(args, i));
  if (!shapes_are_current_) TENON_RETURN_IF_ERROR(infer_shapes());
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
    TENON_RETURN_IF_ERROR(take_output(args, i));
  TENON_RETURN_IF_ERROR(place_tensors());

  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    TENON_RETURN_IF_ERROR(cancelled.check());
    const blob::NodeT& node = graph_.nodes[i];
    const tenon::TracerScope scope(context.tracer(), name_of(node.op),
                                   static_cast<std::int64_t>(i));
    Status ran = run(node.op, inputs_of(i), operands_[node.output]);
    if (!ran.ok()) {
      return error(ran.error(), "node ", i, " (", name_of(node.op), "): ", ran.text());
    }
    if (recorder.is_recording()) {
      const Operand& out = operands_[node.output];
      TENON_RETURN_IF_ERROR(recorder.give(static_cast<std::int64_t>(i), out.scalar_type,
                                          out.shape.sizes(),
                                          {out.data, static_cast<std::size_t>(out.nbytes())}));
    }
  }
  return tenon::ok();
}

std::vector<tenon::Intermediate> Model::intermediates() const {
  std::vector<tenon::Intermediate> out;
  for (const blob::NodeT& node : graph_.nodes) {
    out.push_back({static_cast<std::int64_t>(out.size()), std::string(name_of(node.op))});
  }
  return out;
}

}  // namespace graph_backend
