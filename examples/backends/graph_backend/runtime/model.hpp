// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tenon/backend/cancel_flag.hpp>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "common/graph.hpp"
#include "common/run_shapes.hpp"
#include "runtime/cpu_kernels.hpp"

namespace graph_backend {

/// A graph that is ready to run: its constants found, its memory taken, its kernels prepared.
/// `load` makes everything that a run of the largest sizes needs, so that `execute` allocates
/// nothing unless it fails; a kernel prepares other sizes when they come first.
class Model {
 public:
  /// `graph` comes from `read_graph`. Scratch memory is the host's; constants stay where they are,
  /// in the blob or in named data.
  ///
  /// errors: NotFound and InvalidExternalData for named data, MemoryAllocationFailed
  [[nodiscard]] static tenon::Result<Model> load(Graph graph, const tenon::InitContext& context);

  /// Runs the graph on `args`: its inputs, then its outputs, which get their sizes here. Each event
  /// of the tracer is named after an operator and has the position of the node as its handle. Looks
  /// at the flag of `call` before each node, and gives the results that were asked for to
  /// `recorder`: the memory of one is used again by later nodes.
  ///
  /// errors: InvalidArgument, InvalidType or NotSupported for arguments that do not fit, Cancelled
  [[nodiscard]] tenon::Status execute(tenon::ExecutionContext& context, const tenon::Args& args,
                                      const KernelCall& call,
                                      const tenon::IntermediateRecorder& recorder);

  /// The results of all nodes; events have the same handles.
  [[nodiscard]] std::vector<tenon::Intermediate> intermediates() const;

  /// About the bytes that `load` takes for a graph: scratch, lists by tensor and by node, kernels.
  [[nodiscard]] static std::uint64_t bytes_for(const Graph& graph) noexcept;

  /// Scratch and the kernels' own memory.
  [[nodiscard]] std::uint64_t scratch_bytes() const noexcept {
    return shapes_.graph().scratch_bytes + (cpu_kernels_ ? cpu_kernels_->nbytes() : 0);
  }

 private:
  Model(RunShapes shapes, std::vector<tenon::NamedData> named_data)
      : shapes_(std::move(shapes)), named_data_(std::move(named_data)) {}

  tenon::Status prepare_kernels();
  tenon::Status run_nodes(tenon::ExecutionContext& context, tenon::CancelFlag cancelled,
                          const tenon::IntermediateRecorder& recorder);
  tenon::Status take_arguments(const tenon::Args& args);
  tenon::Status place_tensors();

  RunShapes shapes_;
  std::vector<tenon::NamedData> named_data_;
  std::byte* scratch_ = nullptr;
  std::unique_ptr<CpuKernels> cpu_kernels_;  ///< Null where none is needed, or there are none.
  std::vector<TensorId> moving_;             ///< Tensors that are stored in arguments.

  /// The result of a run.
  struct Argument {
    std::byte* data = nullptr;
    std::uint64_t nbytes = 0;
  };
  std::vector<Argument> arguments_;  ///< Inputs, then outputs.
};

}  // namespace graph_backend
