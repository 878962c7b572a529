// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/owned_edge_program.hpp"
#include "tenon/aot/program_data.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// A partition that was taken out of a program, and how the program calls it (ExecuTorch: a
/// LoweredBackendModule and its node executorch_call_delegate).
struct LoweredPartition {
  std::string tag;
  std::string backend_id;
  std::vector<CompileSpecData> compile_specs;

  /// The input of the backend's `preprocess`: a program of its own with the same names, debug
  /// handles and symbols, and with the data that the partition keeps. Its inputs and user outputs
  /// are those below, in the same order; its mutations, which come before them, are of buffers that
  /// it keeps.
  OwnedEdgeProgram program;
  /// Values of the whole program that a call gets.
  std::vector<ValueId> inputs;
  /// Values of the whole program that a call makes.
  std::vector<ValueId> outputs;
  /// Nodes of the whole program that are in it, in the order in which they run.
  std::vector<std::uint32_t> nodes;
};

/// Runs node number `node` of the program: left to kernels.
struct NodeStep {
  std::uint32_t node = 0;
};
/// Runs partition number `partition` of the lowered program.
struct DelegateStep {
  std::uint32_t partition = 0;
};
using LoweredStep = std::variant<NodeStep, DelegateStep>;

/// A program after its partitions were taken out. Refers to `program`, whose owner must live as
/// long.
struct LoweredProgram {
  EdgeProgram program;
  /// In the order of their steps.
  std::vector<LoweredPartition> partitions;
  /// All that runs, in an order in which it can. Nodes without visible results are left out.
  std::vector<LoweredStep> steps;
  /// The outputs of `program` without mutations of buffers that a partition keeps.
  std::vector<EdgeOutput> outputs;

  /// Whether partitions run, and no node is left to kernels.
  [[nodiscard]] bool is_all_delegated() const noexcept {
    for (const LoweredStep& step : steps) {
      if (std::holds_alternative<NodeStep>(step)) return false;
    }
    return !partitions.empty();
  }
};

}}}  // namespace tenon::TENON_RELEASE::aot
