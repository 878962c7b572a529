// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/aot/edge_program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// The producer and the readers of each value of a program. Made in time linear in the program; it
/// keeps no reference to it. Reading from several threads is safe.
class EdgeUses {
 public:
  static constexpr std::uint32_t no_node = std::numeric_limits<std::uint32_t>::max();

  explicit EdgeUses(const EdgeProgram& program)
      : producers_(program.num_values(), no_node),
        first_(program.num_values() + 1, 0),
        is_output_(program.num_values(), 0),
        is_live_(program.num_nodes(), 0) {
    find_users(program);
    find_live_nodes(program);
  }

  /// Number of the node that makes `value`; `no_node` when none does.
  [[nodiscard]] std::uint32_t producer(ValueId value) const noexcept { return producers_[value]; }
  /// Numbers of the nodes that read `value`, from first to last, each once.
  [[nodiscard]] std::span<const std::uint32_t> users(ValueId value) const noexcept {
    return {users_.data() + first_[value], first_[value + 1] - first_[value]};
  }
  /// Whether `value` is an output of the method, of any kind.
  [[nodiscard]] bool is_output(ValueId value) const noexcept { return is_output_[value] != 0; }
  /// Whether an output of the method depends on the node, or the node writes to what it reads. A
  /// node that is not live need not run: no result of it is visible.
  [[nodiscard]] bool is_live(std::size_t node) const noexcept { return is_live_[node] != 0; }

 private:
  void find_users(const EdgeProgram& program) {
    std::vector<std::uint32_t> last(program.num_values(), no_node);
    const auto visit_reads = [&](const auto& visit) {
      for (std::uint32_t node = 0; node < program.num_nodes(); ++node) {
        program.node(node).for_each_input([&](ValueId value) {
          if (last[value] != node) visit(value, node);
          last[value] = node;
        });
      }
      last.assign(last.size(), no_node);
    };
    visit_reads([&](ValueId value, std::uint32_t) { ++first_[value + 1]; });
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    users_.resize(first_.back());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    visit_reads([&](ValueId value, std::uint32_t node) { users_[next[value]++] = node; });
    for (std::uint32_t node = 0; node < program.num_nodes(); ++node) {
      for (const ValueId value : program.node(node).outputs()) producers_[value] = node;
    }
    for (std::size_t i = 0; i < program.num_outputs(); ++i) {
      is_output_[program.output(i).value] = 1;
    }
  }

  void find_live_nodes(const EdgeProgram& program) {
    std::vector<std::uint8_t> needed = is_output_;
    for (std::size_t i = program.num_nodes(); i-- > 0;) {
      const EdgeNode node = program.node(i);
      bool live = writes_in_place(node.target());
      for (const ValueId value : node.outputs()) live = live || needed[value] != 0;
      is_live_[i] = live ? 1 : 0;
      if (live) node.for_each_input([&](ValueId value) { needed[value] = 1; });
    }
  }

  /// PyTorch ends the names of operators that write to their first argument with one underscore:
  /// "aten.add_.Tensor", but not "aten.__and__.Tensor".
  static bool writes_in_place(std::string_view target) noexcept {
    const std::size_t dot = target.rfind('.');
    const std::string_view name = target.substr(0, dot);
    return name.ends_with('_') && !name.ends_with("__");
  }

  std::vector<std::uint32_t> producers_;
  std::vector<std::uint32_t> first_;  ///< By value: where its users begin in `users_`.
  std::vector<std::uint32_t> users_;
  // Not bits: std::vector<bool> costs more to compile than it saves.
  std::vector<std::uint8_t> is_output_;
  std::vector<std::uint8_t> is_live_;
};

}}}  // namespace tenon::TENON_RELEASE::aot
