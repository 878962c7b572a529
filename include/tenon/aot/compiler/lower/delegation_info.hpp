// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "tenon/aot/compiler/lower/lowered_program.hpp"
#include "tenon/core/api.hpp"

namespace tenon::aot {

/// How often an operator was given to a backend, and how often it was left to kernels.
struct DelegationBreakdown {
  std::size_t delegated = 0;
  std::size_t non_delegated = 0;

  friend bool operator==(const DelegationBreakdown&, const DelegationBreakdown&) = default;
};

/// The nodes that were delegated and those that were not (ExecuTorch:
/// devtools/backend_debug/delegation_info.py). Nodes without visible results are in no program and
/// are not counted.
struct DelegationInfo {
  std::size_t num_delegated_subgraphs = 0;
  std::size_t num_delegated_nodes = 0;
  std::size_t num_non_delegated_nodes = 0;
  std::map<std::string, DelegationBreakdown, std::less<>> delegation_by_operator;
};

[[nodiscard]] TENON_API DelegationInfo get_delegation_info(const LoweredProgram& lowered);

}  // namespace tenon::aot

#if TENON_COMPILER_DEFINITIONS

#include <cstdint>
#include <variant>

#include "tenon/aot/edge_program.hpp"

namespace tenon::aot {

TENON_API DelegationInfo get_delegation_info(const LoweredProgram& lowered) {
  DelegationInfo info;
  const auto by_operator = [&](std::uint32_t node) -> DelegationBreakdown& {
    return info.delegation_by_operator[std::string(lowered.program.node(node).target())];
  };
  for (const LoweredPartition& partition : lowered.partitions) {
    ++info.num_delegated_subgraphs;
    info.num_delegated_nodes += partition.nodes.size();
    for (const std::uint32_t node : partition.nodes) ++by_operator(node).delegated;
  }
  for (const LoweredStep& step : lowered.steps) {
    const auto* left = std::get_if<NodeStep>(&step);
    if (left == nullptr) continue;
    ++info.num_non_delegated_nodes;
    ++by_operator(left->node).non_delegated;
  }
  return info;
}

}  // namespace tenon::aot

#endif  // TENON_COMPILER_DEFINITIONS
