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
#include "tenon/aot/edge_uses.hpp"
#include "tenon/aot/partition_result.hpp"
#include "tenon/aot/tag_data.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aot {

struct PartitionOptions {
  /// Tags are this and a number, in the order in which the partitions may run: "tag0", "tag1".
  std::string tag_prefix = "tag";
  /// Of every partition. The backend's id may stay empty: a plugin's partitions are its own.
  DelegationSpec spec = {};
  /// Smaller partitions are left to kernels. Nodes that only make symbolic numbers do not count. 2
  /// is what torch.fx calls `allows_single_node_partition=False`.
  std::size_t min_nodes = 1;
  /// False: nodes share a partition even when no value connects them. True: each partition is
  /// connected.
  bool skip_horizontal_fusion = false;
  /// Partitions keep the parameters, constants and unchanged buffers that they read
  /// (`tag_constant_data`).
  bool tag_constant_data = true;
  /// A partition keeps the buffers that it alone reads and changes (`tag_mutated_buffers`). For
  /// backends whose delegates have state.
  bool tag_mutated_buffers = false;
};

namespace detail {

/// Groups supported nodes so that groups can run one after the other, with the rest in between.
///
/// Each node gets a level: the largest number of changes from supported to unsupported on a path
/// that leads to it. The supported nodes of one level never wait for something unsupported that
/// waits for one of them, so they can be one group; and since every level has a path that visits
/// all levels below it, no two groups could be merged: no partitioning of all supported nodes has
/// fewer groups. Takes time linear in the graph.
class LevelGroups {
 public:
  LevelGroups(const EdgeProgram& program, const EdgeUses& uses, const std::vector<bool>& supported)
      : program_(program), uses_(uses), supported_(supported), levels_(program.num_nodes(), 0) {
    for (std::uint32_t node = 0; node < program_.num_nodes(); ++node) {
      for_each_producer(node, [&](std::uint32_t from) {
        const std::uint32_t level = earliest_after(from, node);
        if (level > levels_[node]) levels_[node] = level;
      });
    }
    connect();
    sink();
  }

  /// Of a supported node.
  [[nodiscard]] std::uint32_t level(std::uint32_t node) const noexcept { return levels_[node]; }
  /// One node for all those of the same level that are connected through that level.
  [[nodiscard]] std::uint32_t component(std::uint32_t node) noexcept {
    while (parents_[node] != node) node = parents_[node] = parents_[parents_[node]];
    return node;
  }

 private:
  template <class Visit>
  void for_each_producer(std::uint32_t node, const Visit& visit) const {
    program_.node(node).for_each_input([&](ValueId value) {
      if (uses_.producer(value) != EdgeUses::no_node) visit(uses_.producer(value));
    });
  }
  template <class Visit>
  void for_each_user(std::uint32_t node, const Visit& visit) const {
    for (const ValueId value : program_.node(node).outputs()) {
      for (const std::uint32_t user : uses_.users(value)) visit(user);
    }
  }

  [[nodiscard]] std::uint32_t earliest_after(std::uint32_t from, std::uint32_t to) const noexcept {
    return levels_[from] + (supported_[from] && !supported_[to] ? 1u : 0u);
  }

  void connect() {
    for (std::uint32_t node = 0; node < levels_.size(); ++node) parents_.push_back(node);
    for (std::uint32_t node = 0; node < levels_.size(); ++node) {
      if (!supported_[node]) continue;
      for_each_producer(node, [&](std::uint32_t from) {
        if (supported_[from] && levels_[from] == levels_[node]) join(from, node);
      });
    }
  }

  void join(std::uint32_t a, std::uint32_t b) noexcept {
    const std::uint32_t first = component(a);
    const std::uint32_t second = component(b);
    if (first < second) {
      parents_[second] = first;
    } else {
      parents_[first] = second;
    }
  }

  /// Moves what is needed only later to where it is needed: the transposed weight of the last layer
  /// belongs to the partition of the last layer.
  void sink() {
    std::vector<std::vector<std::uint32_t>> by_level;
    for (std::uint32_t node = 0; node < levels_.size(); ++node) {
      if (!supported_[node]) continue;
      if (by_level.size() <= levels_[node]) by_level.resize(levels_[node] + 1);
      by_level[levels_[node]].push_back(node);
    }
    std::vector<std::uint32_t> latest(levels_.size(), none);
    std::vector<std::uint32_t> wanted(levels_.size(), none);
    for (std::uint32_t level = static_cast<std::uint32_t>(by_level.size()); level-- > 0;) {
      for (const std::uint32_t node : by_level[level]) {
        const std::uint32_t of = component(node);
        for_each_user(node, [&](std::uint32_t user) {
          if (supported_[user]) {
            if (component(user) != of) lower(wanted[of], levels_[user]);
          } else if (uses_.is_live(user)) {
            lower(latest[of], levels_[user] - 1);
          }
        });
      }
      // Components are judged before any of them moves: joined ones have another number.
      std::vector<std::uint32_t> moves;
      for (const std::uint32_t node : by_level[level]) {
        const std::uint32_t of = component(node);
        if (wanted[of] != none && wanted[of] <= latest[of]) moves.push_back(node);
      }
      std::vector<std::uint32_t> targets;
      for (const std::uint32_t node : moves) targets.push_back(wanted[component(node)]);
      for (std::size_t i = 0; i < moves.size(); ++i) levels_[moves[i]] = targets[i];
      for (const std::uint32_t node : moves) {
        for_each_user(node, [&](std::uint32_t user) {
          if (supported_[user] && levels_[user] == levels_[node]) join(node, user);
        });
      }
    }
  }

  static void lower(std::uint32_t& level, std::uint32_t other) noexcept {
    if (other < level) level = other;
  }

  static constexpr std::uint32_t none = EdgeUses::no_node;

  const EdgeProgram& program_;
  const EdgeUses& uses_;
  const std::vector<bool>& supported_;
  std::vector<std::uint32_t> levels_;
  std::vector<std::uint32_t> parents_;
};

inline bool makes_only_symbols(const EdgeProgram& program, const EdgeNode& node) {
  for (const ValueId value : node.outputs()) {
    if (program.value(value).is_tensor()) return false;
  }
  return true;
}

/// Drops nodes without visible results, and nodes that make numbers that are read outside: the
/// caller would have to ask the delegate for a number.
inline void drop_symbols_for_others(const EdgeProgram& program, const EdgeUses& uses,
                                    std::vector<bool>& supported) {
  for (std::size_t i = program.num_nodes(); i-- > 0;) {
    const EdgeNode node = program.node(i);
    supported[i] = supported[i] && uses.is_live(i);
    if (!supported[i] || !makes_only_symbols(program, node)) continue;
    for (const ValueId value : node.outputs()) {
      if (uses.is_output(value)) supported[i] = false;
      for (const std::uint32_t user : uses.users(value)) {
        if (uses.is_live(user) && !supported[user]) supported[i] = false;
      }
    }
  }
}

inline Result<PartitionResult> partition_supported(const EdgeProgram& program,
                                                   std::vector<bool> supported,
                                                   const PartitionOptions& options) {
  if (options.tag_prefix.empty()) {
    return error(Error::InvalidArgument, "PartitionOptions::tag_prefix is empty");
  }
  const EdgeUses uses(program);
  drop_symbols_for_others(program, uses, supported);
  LevelGroups groups(program, uses, supported);

  // Nodes by level and component, in the order of the program.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> nodes_by_group;
  for (std::uint32_t node = 0; node < program.num_nodes(); ++node) {
    if (!supported[node]) continue;
    const std::uint32_t component = options.skip_horizontal_fusion ? groups.component(node) : 0;
    nodes_by_group[{groups.level(node), component}].push_back(node);
  }

  PartitionResult result;
  result.node_tags.resize(program.num_nodes());
  for (const auto& [group, nodes] : nodes_by_group) {
    std::size_t count = 0;
    for (const std::uint32_t node : nodes) {
      if (!makes_only_symbols(program, program.node(node))) ++count;
    }
    // A group that only makes numbers is not worth a delegate.
    if (count == 0 || count < options.min_nodes) continue;
    const std::string tag = concat(options.tag_prefix, result.partition_tags.size());
    result.partition_tags.emplace(tag, options.spec);
    for (const std::uint32_t node : nodes) result.tag_node(node, tag);
  }
  if (options.tag_constant_data) tag_constant_data(program, uses, result);
  if (options.tag_mutated_buffers) tag_mutated_buffers(program, uses, result);
  return result;
}

}  // namespace detail

/// Gives every node for which `supports(const EdgeProgram&, const EdgeNode&)` is true to a
/// partition, in as few partitions as there can be (ExecuTorch and torch.fx:
/// CapabilityBasedPartitioner). Each partition is convex, and all of them can be ordered. Equal
/// programs give equal partitions; the time is linear to the program.
///
/// Nodes without visible results are not asked for and get no tag. A node that makes symbolic
/// numbers (`aten.sym_size.int`) gets one only when none but tagged nodes read the number, so that
/// delegates do not have to give numbers back; should `min_nodes` drop one of these readers, or two
/// partitions read the number, a delegate still gives it back.
///
///     static Result<aot::PartitionResult> partition(const aot::EdgeProgram& program,
///                                                   CompileSpecs) {
///       return aot::partition_by_support(program, [](const auto&, const aot::EdgeNode& node) {
///         return node.target() == "aten.add.Tensor";
///       });
///     }
///
/// errors: InvalidArgument for an empty tag prefix.
template <class Supports>
[[nodiscard]] Result<PartitionResult> partition_by_support(const EdgeProgram& program,
                                                           Supports&& supports,
                                                           const PartitionOptions& options = {}) {
  std::vector<bool> supported(program.num_nodes());
  for (std::size_t i = 0; i < supported.size(); ++i) {
    supported[i] = supports(program, program.node(i));
  }
  return detail::partition_supported(program, std::move(supported), options);
}

}  // namespace tenon::aot
