// SPDX-License-Identifier: MIT
#include "runtime/model.hpp"

#include <algorithm>
#include <cstdlib>
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
      operand.is_fixed = true;
    } else if (tensor.place == Place::Scratch) {
      operand.data = model.scratch_ ? model.scratch_ + tensor.offset : nullptr;
    } else {
      model.moving_.push_back(id);
    }
  }
  model.arguments_.resize(loaded.inputs.size() + loaded.outputs.size());
  const auto is_kernel = [](const blob::NodeT& node) { return CpuKernels::has(node.op); };
  if (std::ranges::any_of(loaded.nodes, is_kernel)) model.cpu_kernels_ = CpuKernels::make();
  if (model.cpu_kernels_) {
    TENON_RETURN_IF_ERROR(model.cpu_kernels_->within({}, [&] { return model.prepare_kernels(); }));
  }
  return model;
}

/// Runs each node that is a kernel's, with zeros for what is not known yet.
Status Model::prepare_kernels() {
  const Graph& graph = shapes_.graph();
  const auto is_kernel = [](const blob::NodeT& node) { return CpuKernels::has(node.op); };
  std::uint64_t most_in = 0;
  std::uint64_t most_out = 0;
  for (const blob::NodeT& node : graph.nodes) {
    if (!is_kernel(node)) continue;
    for (const TensorId id : node.inputs) most_in = std::max(most_in, shapes_[id].nbytes());
    most_out = std::max(most_out, shapes_[node.output].nbytes());
  }
  struct Free {
    void operator()(void* block) const noexcept { std::free(block); }
  };
  // Memory of zeros that is only read takes no room.
  const std::unique_ptr<void, Free> zeros(std::calloc(most_in + 1, 1));
  const std::unique_ptr<void, Free> result(std::malloc(most_out + 1));
  if (!zeros || !result) {
    return error(Error::MemoryAllocationFailed, "no memory: expected ", most_in + most_out,
                 " bytes to prepare kernels");
  }
  std::vector<Operand> operands;
  std::vector<const Operand*> inputs;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!is_kernel(graph.nodes[i])) continue;
    operands.clear();
    inputs.clear();
    for (const Operand* operand : shapes_.inputs_of(i)) {
      operands.push_back(*operand);
      if (!operand->is_fixed) operands.back().data = static_cast<std::byte*>(zeros.get());
    }
    for (const Operand& operand : operands) inputs.push_back(&operand);
    Operand out = shapes_[graph.nodes[i].output];
    out.data = static_cast<std::byte*>(result.get());
    const Status ran = cpu_kernels_->run(graph.nodes[i].op, inputs, out);
    if (!ran.ok()) {
      return error(ran.error(), "node ", i, " (", name_of(graph.nodes[i].op), "): ", ran.text());
    }
  }
  return tenon::ok();
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
  // About what oneDNN keeps for a convolution: its code, and the weights in its own order.
  constexpr std::uint64_t code = 128 * 1024;
  std::uint64_t kernels = 0;
  for (const blob::NodeT& node : graph.nodes) {
    if (node.op.type != blob::Operator::Convolution || !CpuKernels::has(node.op)) continue;
    kernels += code + largest(graph.tensors[node.inputs[1]]).nbytes();
  }
  return graph.scratch_bytes + lists + kernels;
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

Status Model::execute(tenon::ExecutionContext& context, const Args& args, const KernelCall& call,
                      const tenon::IntermediateRecorder& recorder) {
  TENON_RETURN_IF_ERROR(take_arguments(args));
  TENON_RETURN_IF_ERROR(place_tensors());
  const auto nodes = [&] { return run_nodes(context, call.cancelled, recorder); };
  return cpu_kernels_ ? cpu_kernels_->within(call, nodes) : nodes();
}

Status Model::run_nodes(tenon::ExecutionContext& context, tenon::CancelFlag cancelled,
                        const tenon::IntermediateRecorder& recorder) {
  const Graph& graph = shapes_.graph();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    TENON_RETURN_IF_ERROR(cancelled.check());
    const blob::NodeT& node = graph.nodes[i];
    const tenon::TracerScope scope(context.tracer(), name_of(node.op),
                                   static_cast<std::int64_t>(i));
    const Operand& out = shapes_[node.output];
    Status ran = cpu_kernels_ && CpuKernels::has(node.op)
                     ? cpu_kernels_->run(node.op, shapes_.inputs_of(i), out)
                     : run(node.op, shapes_.inputs_of(i), out);
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
