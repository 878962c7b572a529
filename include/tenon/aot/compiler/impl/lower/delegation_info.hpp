// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/lower/delegation_info.hpp"

#include <cstdint>
#include <variant>

#include "tenon/aot/edge_program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

DelegationInfo get_delegation_info(const LoweredProgram& lowered) {
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

}}}  // namespace tenon::TENON_RELEASE::aot
