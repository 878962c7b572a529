// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/compile_spec_data.hpp"
#include "tenon/aot/edge_value.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// The backend and the compile specs of a partition (ExecuTorch: exir/backend/partitioner.py,
/// DelegationSpec).
struct DelegationSpec {
  std::string backend_id;
  std::vector<CompileSpecData> compile_specs;
};

/// The nodes of a program that each backend takes (ExecuTorch: PartitionResult; there the tag is
/// written on the nodes of a copy of the graph, here the program does not change).
struct PartitionResult {
  /// By tag.
  std::map<std::string, DelegationSpec, std::less<>> partition_tags;
  /// The tag of each node, by the node's number; empty for a node that is left to kernels. A list
  /// that is shorter than the program's nodes leaves the rest to kernels.
  std::vector<std::string> node_tags;
  /// The tag of parameters, buffers and constants that a partition keeps: it gets their data ahead
  /// of time. By the value's number, like `node_tags`; one without a tag is an argument of each
  /// call instead, like a node's output.
  std::vector<std::string> value_tags;

  void tag_node(std::size_t node, std::string_view tag) {
    if (node >= node_tags.size()) node_tags.resize(node + 1);
    node_tags[node] = tag;
  }
  void tag_value(ValueId value, std::string_view tag) {
    if (value >= value_tags.size()) value_tags.resize(std::size_t{value} + 1);
    value_tags[value] = tag;
  }
  [[nodiscard]] std::string_view tag_of(std::size_t node) const noexcept {
    return node < node_tags.size() ? std::string_view(node_tags[node]) : std::string_view();
  }
  [[nodiscard]] std::string_view tag_of_value(ValueId value) const noexcept {
    return value < value_tags.size() ? std::string_view(value_tags[value]) : std::string_view();
  }
};

}}}  // namespace tenon::TENON_RELEASE::aot
