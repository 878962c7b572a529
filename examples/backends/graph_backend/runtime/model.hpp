// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <tenon/backend/cancel_flag.hpp>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "common/graph.hpp"
#include "common/run_shapes.hpp"

namespace graph_backend {

/// A graph that is ready to run: its constants found, its memory taken. Everything that a run needs
/// is made by `load`, so that `execute` allocates nothing unless it fails.
class Model {
 public:
  /// `graph` comes from `read_graph`. Scratch memory is the host's; constants stay where they are,
  /// in the blob or in named data.
  ///
  /// errors: NotFound and InvalidExternalData for named data, MemoryAllocationFailed
  [[nodiscard]] static tenon::Result<Model> load(Graph graph, const tenon::InitContext& context);

  /// Runs the graph on `args`: its inputs, then its outputs, which get their sizes here. Each event
  /// of the tracer is named after an operator and has the position of the node as its handle. Looks
  /// at `cancelled` before each node, and gives the results that were asked for to `recorder`: the
  /// memory of one is used again by later nodes.
  ///
  /// errors: InvalidArgument, InvalidType or NotSupported for arguments that do not fit, Cancelled
  [[nodiscard]] tenon::Status execute(tenon::ExecutionContext& context, const tenon::Args& args,
                                      tenon::CancelFlag cancelled,
                                      const tenon::IntermediateRecorder& recorder);

  /// The results of all nodes; events have the same handles.
  [[nodiscard]] std::vector<tenon::Intermediate> intermediates() const;

  /// Bytes that `load` takes for a graph: scratch, and lists by tensor and by node.
  [[nodiscard]] static std::uint64_t bytes_for(const Graph& graph) noexcept;

  [[nodiscard]] std::uint64_t scratch_bytes() const noexcept {
    return shapes_.graph().scratch_bytes;
  }

 private:
  Model(RunShapes shapes, std::vector<tenon::NamedData> named_data)
      : shapes_(std::move(shapes)), named_data_(std::move(named_data)) {}

  tenon::Status take_arguments(const tenon::Args& args);
  tenon::Status place_tensors();

  RunShapes shapes_;
  std::vector<tenon::NamedData> named_data_;
  std::byte* scratch_ = nullptr;
  std::vector<TensorId> moving_;  ///< Tensors that are stored in arguments.

  /// The result of a run.
  struct Argument {
    std::byte* data = nullptr;
    std::uint64_t nbytes = 0;
  };
  std::vector<Argument> arguments_;  ///< Inputs, then outputs.
};

}  // namespace graph_backend
