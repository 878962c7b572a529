// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

struct PartitionOptions {
  /// Tags are this and a number, in the order in which the partitions may run: "tag0", "tag1".
  std::string tag_prefix = "tag";
  /// Of every partition. The backend's id may stay empty: a plugin's partitions are its own.
  DelegationSpec spec = {};
  /// Smaller partitions are left to kernels. Nodes that only make symbolic numbers do not count. 2
  /// is what torch.fx calls `allows_single_node_partition=False`.
  std::size_t min_nodes = 1;
  /// Larger partitions are left to kernels. All of their nodes count.
  std::size_t max_nodes = std::numeric_limits<std::size_t>::max();
  /// False: nodes share a partition even when no value connects them. True: each partition is
  /// connected.
  bool skip_horizontal_fusion = false;
  /// Partitions keep the parameters, constants and unchanged buffers that they read
  /// (`tag_constant_data`).
  bool tag_constant_data = true;
  /// A partition keeps the buffers that it alone reads and changes (`tag_mutated_buffers`). For
  /// backends whose delegates have state.
  bool tag_mutated_buffers = false;
  /// False, for delegates that give tensors back and no numbers: a node that makes a symbolic
  /// number for another partition, for kernels or for the caller is left to kernels.
  bool gives_numbers = true;
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
  LevelGroups(const EdgeProgram& program, const EdgeUses& uses,
              const std::vector<std::uint8_t>& supported)
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

  using Nodes = std::vector<std::uint32_t>;

  /// The supported nodes of each level, or of each part of a level that is connected through the
  /// level. Nodes are in the order of the program, parts in the order of their first nodes.
  [[nodiscard]] std::vector<Nodes> groups(bool connected) {
    std::vector<Nodes> by_level = nodes_by_level();
    if (!connected) return by_level;
    std::vector<Nodes> out;
    std::vector<std::uint32_t> group_of(levels_.size(), none);  // By component.
    for (const Nodes& nodes : by_level) {
      for (const std::uint32_t node : nodes) {
        std::uint32_t& group = group_of[component(node)];
        if (group == none) {
          group = static_cast<std::uint32_t>(out.size());
          out.resize(out.size() + 1);
        }
        out[group].push_back(node);
      }
    }
    return out;
  }

 private:
  /// The first of the nodes that have the level of `node` and are connected to it through that
  /// level.
  [[nodiscard]] std::uint32_t component(std::uint32_t node) noexcept {
    while (parents_[node] != node) node = parents_[node] = parents_[parents_[node]];
    return node;
  }

  [[nodiscard]] std::vector<Nodes> nodes_by_level() const {
    std::vector<Nodes> out;
    for (std::uint32_t node = 0; node < levels_.size(); ++node) {
      if (supported_[node] == 0) continue;
      if (out.size() <= levels_[node]) out.resize(levels_[node] + 1);
      out[levels_[node]].push_back(node);
    }
    return out;
  }

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
    return levels_[from] + (supported_[from] > supported_[to] ? 1u : 0u);
  }

  void connect() {
    for (std::uint32_t node = 0; node < levels_.size(); ++node) parents_.push_back(node);
    for (std::uint32_t node = 0; node < levels_.size(); ++node) {
      if (supported_[node] == 0) continue;
      for_each_producer(node, [&](std::uint32_t from) {
        if (supported_[from] != 0 && levels_[from] == levels_[node]) join(from, node);
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
    const std::vector<Nodes> by_level = nodes_by_level();
    std::vector<std::uint32_t> latest(levels_.size(), none);
    std::vector<std::uint32_t> wanted(levels_.size(), none);
    for (std::uint32_t level = static_cast<std::uint32_t>(by_level.size()); level-- > 0;) {
      for (const std::uint32_t node : by_level[level]) {
        const std::uint32_t of = component(node);
        for_each_user(node, [&](std::uint32_t user) {
          if (supported_[user] != 0) {
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
          if (supported_[user] != 0 && levels_[user] == levels_[node]) join(node, user);
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
  const std::vector<std::uint8_t>& supported_;  ///< By node; not bits, which cost more to compile.
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
                                    std::vector<std::uint8_t>& supported) {
  for (std::size_t i = program.num_nodes(); i-- > 0;) {
    const EdgeNode node = program.node(i);
    if (!uses.is_live(i)) supported[i] = 0;
    if (supported[i] == 0 || !makes_only_symbols(program, node)) continue;
    for (const ValueId value : node.outputs()) {
      if (uses.is_output(value)) supported[i] = 0;
      for (const std::uint32_t user : uses.users(value)) {
        if (uses.is_live(user) && supported[user] == 0) supported[i] = 0;
      }
    }
  }
}

/// Drops nodes that make a number which is read outside their partition. Returns whether there was
/// one.
inline bool drop_number_givers(const EdgeProgram& program, const EdgeUses& uses,
                               const PartitionResult& result,
                               std::vector<std::uint8_t>& supported) {
  bool found = false;
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    const std::string_view tag = result.tag_of(i);
    if (tag.empty()) continue;
    for (const ValueId value : program.node(i).outputs()) {
      if (program.value(value).is_tensor()) continue;
      bool is_given = uses.is_output(value);
      for (const std::uint32_t user : uses.users(value)) {
        is_given = is_given || (uses.is_live(user) && result.tag_of(user) != tag);
      }
      if (!is_given) continue;
      supported[i] = 0;
      found = true;
    }
  }
  return found;
}

/// One partition for each group of the supported nodes, unless it is too small or too large.
inline PartitionResult tag_groups(const EdgeProgram& program, const EdgeUses& uses,
                                  const std::vector<std::uint8_t>& supported,
                                  const PartitionOptions& options) {
  LevelGroups levels(program, uses, supported);
  PartitionResult result;
  result.node_tags.resize(program.num_nodes());
  for (const LevelGroups::Nodes& nodes : levels.groups(options.skip_horizontal_fusion)) {
    std::size_t count = 0;
    for (const std::uint32_t node : nodes) {
      if (!makes_only_symbols(program, program.node(node))) ++count;
    }
    // A group that only makes numbers is not worth a delegate.
    if (count == 0 || count < options.min_nodes || nodes.size() > options.max_nodes) continue;
    const std::string tag = concat(options.tag_prefix, result.partition_tags.size());
    result.partition_tags.emplace(tag, options.spec);
    for (const std::uint32_t node : nodes) result.tag_node(node, tag);
  }
  return result;
}

inline Result<PartitionResult> partition_supported(const EdgeProgram& program,
                                                   std::vector<std::uint8_t> supported,
                                                   const PartitionOptions& options) {
  if (options.tag_prefix.empty()) {
    return error(Error::InvalidArgument, "PartitionOptions::tag_prefix is empty");
  }
  const EdgeUses uses(program);
  drop_symbols_for_others(program, uses, supported);
  PartitionResult result = tag_groups(program, uses, supported, options);
  // Each round takes a node away, so there is a last one.
  while (!options.gives_numbers && drop_number_givers(program, uses, result, supported)) {
    drop_symbols_for_others(program, uses, supported);
    result = tag_groups(program, uses, supported, options);
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
/// delegates do not have to give numbers back; should a limit drop one of these readers, or two
/// partitions read the number, a delegate still gives it back, unless `gives_numbers` is false.
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
  std::vector<std::uint8_t> supported(program.num_nodes());
  for (std::size_t i = 0; i < supported.size(); ++i) {
    supported[i] = supports(program, program.node(i)) ? 1 : 0;
  }
  return detail::partition_supported(program, std::move(supported), options);
}

/// The operators of all nodes for which `keeps(const EdgeProgram&, const EdgeNode&)` is true, each
/// once, in the order of the program: what `ops_to_not_decompose` returns.
///
///     static Result<std::vector<std::string>> ops_to_not_decompose(const aot::EdgeProgram&
///     program) {
///       return aot::targets_by_support(program, [](const auto&, const aot::EdgeNode& node) {
///         return node.target() == "aten.linear.default";
///       });
///     }
template <class Keeps>
[[nodiscard]] std::vector<std::string> targets_by_support(const EdgeProgram& program,
                                                          Keeps&& keeps) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    const EdgeNode node = program.node(i);
    bool is_new = true;
    for (const std::string& target : out) is_new = is_new && target != node.target();
    if (is_new && keeps(program, node)) out.emplace_back(node.target());
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::aot
