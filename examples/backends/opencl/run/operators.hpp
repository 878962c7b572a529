// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <tenon/core/result.hpp>

#include "common/run_shapes.hpp"
#include "run/launcher.hpp"

namespace opencl_backend {

/// Where the tensors of a graph are in one run, and where its commands are put.
struct Place {
  Target target;
  std::span<const Slice> tensors;  ///< By their numbers in the graph.
  ElementSlice failure{};          ///< Four numbers, of Embedding; see its kernel.
};

/// Enqueues or records one node, whose sizes `shapes` has.
[[nodiscard]] tenon::Status enqueue_node(Launcher& launch, const graph_backend::RunShapes& shapes,
                                         std::size_t node, const Place& place);

}  // namespace opencl_backend
