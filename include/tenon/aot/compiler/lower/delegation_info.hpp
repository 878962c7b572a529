// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "tenon/aot/compiler/lower/lowered_program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

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

[[nodiscard]] DelegationInfo get_delegation_info(const LoweredProgram& lowered);

}}}  // namespace tenon::TENON_RELEASE::aot
