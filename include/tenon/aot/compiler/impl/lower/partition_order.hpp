// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/edge_uses.hpp"
#include "tenon/aot/partition_result.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// The graph that is left when each partition has become one node: units are partitions and live
/// nodes without a tag.
class PartitionOrder {
 public:
  using Unit = std::uint32_t;
  static constexpr Unit no_unit = EdgeUses::no_node;

  /// `partitions` must name every tag that a live node has.
  PartitionOrder(const EdgeProgram& program, const EdgeUses& uses,
                 const PartitionResult& partitions)
      : program_(program), partitions_(partitions), unit_of_(program.num_nodes(), no_unit) {
    std::map<std::string_view, Unit> tags;
    for (std::uint32_t node = 0; node < unit_of_.size(); ++node) {
      if (!uses.is_live(node)) continue;
      const std::string_view tag = partitions.tag_of(node);
      const auto next = static_cast<Unit>(nodes_.size());
      const Unit unit = tag.empty() ? next : tags.emplace(tag, next).first->second;
      if (unit == next) nodes_.emplace_back();
      nodes_[unit].push_back(node);
      unit_of_[node] = unit;
    }
    find_edges(uses);
  }

  [[nodiscard]] const std::vector<std::uint32_t>& nodes(Unit unit) const noexcept {
    return nodes_[unit];
  }
  [[nodiscard]] Unit unit_of(std::size_t node) const noexcept { return unit_of_[node]; }
  /// Empty when the unit is a node that is left to kernels.
  [[nodiscard]] std::string_view tag(Unit unit) const noexcept {
    return partitions_.tag_of(nodes_[unit].front());
  }

  /// Units in an order in which they can run. Of the units that could run next, the program's first
  /// one comes next. InvalidArgument with the path when there is none.
  [[nodiscard]] Result<std::vector<Unit>> sort() const {
    std::vector<std::uint32_t> waits_for(nodes_.size(), 0);
    for (const auto& [from, to] : edges_) ++waits_for[unit_of_[to]];
    using Entry = std::pair<std::uint32_t, Unit>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (Unit unit = 0; unit < nodes_.size(); ++unit) {
      if (waits_for[unit] == 0) ready.emplace(nodes_[unit].front(), unit);
    }
    std::vector<Unit> order;
    while (!ready.empty()) {
      const Unit unit = ready.top().second;
      ready.pop();
      order.push_back(unit);
      for (std::size_t i = first_edge_[unit]; i < first_edge_[unit + 1]; ++i) {
        const Unit to = unit_of_[edges_[i].second];
        if (--waits_for[to] == 0) ready.emplace(nodes_[to].front(), to);
      }
    }
    if (order.size() == nodes_.size()) return order;
    return describe_cycle(waits_for);
  }

 private:
  using Edge = std::pair<std::uint32_t, std::uint32_t>;  ///< Nodes of different units.

  void find_edges(const EdgeUses& uses) {
    first_edge_.reserve(nodes_.size() + 1);
    for (Unit unit = 0; unit < nodes_.size(); ++unit) {
      first_edge_.push_back(edges_.size());
      for (const std::uint32_t node : nodes_[unit]) {
        for (const ValueId value : program_.node(node).outputs()) {
          for (const std::uint32_t user : uses.users(value)) {
            if (unit_of_[user] != no_unit && unit_of_[user] != unit) edges_.push_back({node, user});
          }
        }
      }
    }
    first_edge_.push_back(edges_.size());
  }

  /// The units that still wait contain a cycle: each waits for one of them.
  Status describe_cycle(const std::vector<std::uint32_t>& waits_for) const {
    std::vector<const Edge*> blocked_by(nodes_.size(), nullptr);
    for (const Edge& edge : edges_) {
      const Unit to = unit_of_[edge.second];
      if (waits_for[to] != 0 && waits_for[unit_of_[edge.first]] != 0 && !blocked_by[to]) {
        blocked_by[to] = &edge;
      }
    }
    Unit unit = 0;
    while (waits_for[unit] == 0) ++unit;
    std::vector<bool> seen(nodes_.size(), false);
    for (; !seen[unit]; unit = unit_of_[blocked_by[unit]->first]) seen[unit] = true;
    // A path ends best where it began: at a partition.
    for (std::size_t i = 0; i < nodes_.size() && tag(unit).empty(); ++i) {
      unit = unit_of_[blocked_by[unit]->first];
    }
    std::vector<Unit> partitions;
    std::vector<const Edge*> path;
    for (Unit at = unit; path.empty() || at != unit; at = unit_of_[path.back()->first]) {
      if (!tag(at).empty()) partitions.push_back(at);
      path.push_back(blocked_by[at]);
    }
    std::ranges::reverse(path);
    std::string steps;
    for (const Edge* edge : path) {
      const bool continues = !steps.empty() && tag(unit_of_[edge->first]).empty();
      if (!continues) steps += concat(steps.empty() ? "" : ", ", describe(edge->first));
      steps += concat(" -> ", describe(edge->second));
    }
    if (partitions.size() == 1) {
      return error(Error::InvalidArgument, "partition '", tag(unit),
                   "' is not convex: a path leaves it and comes back: ", steps);
    }
    return error(Error::InvalidArgument, "partitions '", tag(partitions[0]), "' and '",
                 tag(partitions[1]), "' each need what the other one makes: ", steps);
  }

  [[nodiscard]] std::string describe(std::uint32_t node) const {
    const std::string_view tag = partitions_.tag_of(node);
    return concat("'", program_.node(node).name(), "' (", tag.empty() ? "left to kernels" : tag,
                  ")");
  }

  const EdgeProgram& program_;
  const PartitionResult& partitions_;
  std::vector<Unit> unit_of_;                      ///< By node; no_unit when it is not live.
  std::vector<std::vector<std::uint32_t>> nodes_;  ///< By unit, in the order of the program.
  std::vector<Edge> edges_;                        ///< By unit of the first node.
  std::vector<std::size_t> first_edge_;            ///< By unit.
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
