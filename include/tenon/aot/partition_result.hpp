// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aot {

/// Who compiles a partition and with what (ExecuTorch: exir/backend/partitioner.py,
/// DelegationSpec).
struct DelegationSpec {
  std::string backend_id;
  std::vector<CompileSpecData> compile_specs;
};

/// Which nodes of a program go to which backend (ExecuTorch: PartitionResult; there the tag is
/// written on the nodes of a copy of the graph, here the program stays as it is).
struct PartitionResult {
  /// By tag.
  std::map<std::string, DelegationSpec, std::less<>> partition_tags;
  /// The tag of each node, by the node's number; empty for a node that is left to kernels. A list
  /// that is shorter than the program's nodes leaves the rest to kernels.
  std::vector<std::string> node_tags;

  void tag_node(std::size_t node, std::string_view tag) {
    if (node >= node_tags.size()) node_tags.resize(node + 1);
    node_tags[node] = tag;
  }
  [[nodiscard]] std::string_view tag_of(std::size_t node) const noexcept {
    return node < node_tags.size() ? std::string_view(node_tags[node]) : std::string_view();
  }
};

}  // namespace tenon::aot
