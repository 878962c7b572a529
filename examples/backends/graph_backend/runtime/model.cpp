// SPDX-License-Identifier: MIT
#include "runtime/model.hpp"

#include <memory>
#include <string>
#include <utility>

#include "common/check_graph.hpp"
#include "runtime/kernels.hpp"

namespace graph_backend {

using blob::Place;
using tenon::Args;
using tenon::Error;
using tenon::Status;

tenon::Result<Model> Model::load(Graph graph, const tenon::InitContext& context) {
  TENON_TRY(auto named_data, find_constants(graph, context));
  Model model(RunShapes(std::make_shared<const Graph>(std::move(graph))), std::move(named_data));
  const Graph& loaded = model.shapes_.graph();
  if (loaded.scratch_bytes != 0) {
    const auto size = static_cast<std::size_t>(loaded.scratch_bytes);
    model.scratch_ =
        static_cast<std::byte*>(context.runtime_allocator().allocate(size, scratch_alignment));
    if (!model.scratch_) {
      return error(Error::MemoryAllocationFailed, "no memory: expected ", size,
                   " bytes of scratch from the host");
    }
  }
  for (TensorId id = 0; id < loaded.tensors.size(); ++id) {
    const blob::TensorT& tensor = loaded.tensors[id];
    Operand& operand = model.shapes_[id];
    if (tensor.place == Place::Constant) {
      // Kernels write to outputs alone, and those are no constants.
      operand.data = const_cast<std::byte*>(loaded.constants[tensor.index].data.bytes().data());
    } else if (tensor.place == Place::Scratch) {
      operand.data = model.scratch_ ? model.scratch_ + tensor.offset : nullptr;
    } else {
      model.moving_.push_back(id);
    }
  }
  model.arguments_.resize(loaded.inputs.size() + loaded.outputs.size());
  return model;
}

std::uint64_t Model::bytes_for(const Graph& graph) noexcept {
  std::uint64_t lists = graph.tensors.size() * (sizeof(blob::TensorT) + sizeof(Operand));
  for (const blob::TensorT& tensor : graph.tensors) {
    lists += tensor.sizes.size() * (sizeof(std::int64_t) + sizeof(std::uint32_t));
  }
  for (const blob::NodeT& node : graph.nodes) {
    lists += sizeof(blob::NodeT) + 2 * sizeof(std::size_t) +
             node.inputs.size() * (sizeof(TensorId) + sizeof(const Operand*));
  }
  return graph.scratch_bytes + lists;
}

Status Model::take_arguments(const Args& args) {
  const Graph& graph = shapes_.graph();
  TENON_RETURN_IF_ERROR(shapes_.take_inputs(args));
  TENON_RETURN_IF_ERROR(shapes_.resize_outputs(args));
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const bool is_input = i < graph.inputs.size();
    const TensorId id = is_input ? graph.inputs[i] : graph.outputs[i - graph.inputs.size()];
    if (id == no_tensor) continue;
    TENON_TRY(const auto tensor,
              args.tensor(i, shapes_[id].scalar_type,
                          is_input ? tenon::Access::Read : tenon::Access::Write));
    // Nothing writes to an input: `check_graph` saw to that.
    arguments_[i] = {static_cast<std::byte*>(tensor.data()), tensor.nbytes()};
  }
  return tenon::ok();
}

Status Model::place_tensors() {
  const Graph& graph = shapes_.graph();
  for (const TensorId id : moving_) {
    const blob::TensorT& tensor = graph.tensors[id];
    const std::size_t first = tensor.place == Place::Output ? graph.inputs.size() : 0;
    const Argument& argument = arguments_[first + tensor.index];
    if (shapes_[id].nbytes() > argument.nbytes) {
      return error(Error::InvalidArgument, "argument ", first + tensor.index, ": expected ",
                   shapes_[id].nbytes(), " bytes for tensor ", id, ", found ", argument.nbytes);
    }
    shapes_[id].data = argument.data;
  }
  return tenon::ok();
}

Status Model::execute(tenon::ExecutionContext& context, const Args& args,
                      tenon::CancelFlag cancelled, const tenon::IntermediateRecorder& recorder) {
  TENON_RETURN_IF_ERROR(take_arguments(args));
  TENON_RETURN_IF_ERROR(place_tensors());

  const Graph& graph = shapes_.graph();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    TENON_RETURN_IF_ERROR(cancelled.check());
    const blob::NodeT& node = graph.nodes[i];
    const tenon::TracerScope scope(context.tracer(), name_of(node.op),
                                   static_cast<std::int64_t>(i));
    const Operand& out = shapes_[node.output];
    Status ran = run(node.op, shapes_.inputs_of(i), out);
    if (!ran.ok()) {
      return error(ran.error(), "node ", i, " (", name_of(node.op), "): ", ran.text());
    }
    if (recorder.is_recording()) {
      TENON_RETURN_IF_ERROR(recorder.give(static_cast<std::int64_t>(i), out.scalar_type,
                                          out.shape.sizes(),
                                          {out.data, static_cast<std::size_t>(out.nbytes())}));
    }
  }
  return tenon::ok();
}

std::vector<tenon::Intermediate> Model::intermediates() const {
  std::vector<tenon::Intermediate> out;
  for (const blob::NodeT& node : shapes_.graph().nodes) {
    out.push_back({static_cast<std::int64_t>(out.size()), std::string(name_of(node.op))});
  }
  return out;
}

}  // namespace graph_backend
