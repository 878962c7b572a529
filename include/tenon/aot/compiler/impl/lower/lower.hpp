// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/lower/lower.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/impl/lower/check_partition.hpp"
#include "tenon/aot/compiler/impl/lower/copy_edge.hpp"
#include "tenon/aot/compiler/impl/lower/partition_order.hpp"
#include "tenon/aot/edge_program_builder.hpp"
#include "tenon/aot/edge_uses.hpp"
#include "tenon/aot/shared_bytes.hpp"
#include "tenon/aot/tag_data.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// Mutations of buffers that a partition keeps, by the partition, and by their new content.
class KeptMutations {
 public:
  KeptMutations(const EdgeProgram& program, const PartitionResult& partitions) {
    for (std::size_t i = 0; i < program.num_outputs(); ++i) {
      const EdgeOutput output = program.output(i);
      if (output.kind != EdgeOutputKind::BufferMutation) continue;
      const std::string_view tag = partitions.tag_of_value(output.target);
      if (tag.empty()) continue;
      by_tag_[tag].push_back(output);
      contents_.emplace(output.value, tag);
    }
  }

  /// In the order of the program's outputs.
  [[nodiscard]] std::span<const EdgeOutput> of(std::string_view tag) const {
    const auto found = by_tag_.find(tag);
    return found == by_tag_.end() ? std::span<const EdgeOutput>() : found->second;
  }
  /// Whether `value` is the new content of a buffer of partition `tag`.
  [[nodiscard]] bool is_content(ValueId value, std::string_view tag) const {
    return contents_.contains({value, tag});
  }

 private:
  std::map<std::string_view, std::vector<EdgeOutput>> by_tag_;
  std::set<std::pair<ValueId, std::string_view>> contents_;
};

/// Takes one partition out of a program.
class PartitionExtractor {
 public:
  PartitionExtractor(const EdgeProgram& program, const EdgeUses& uses,
                     const PartitionResult& partitions, const KeptMutations& mutations)
      : program_(program),
        uses_(uses),
        partitions_(partitions),
        mutations_(mutations),
        builder_(program.method_name()) {}

  /// `nodes` are live, and all of partition `tag`.
  Result<LoweredPartition> extract(std::string_view tag, const DelegationSpec& spec,
                                   const std::vector<std::uint32_t>& nodes) && {
    for (const std::uint32_t node : nodes) add_node(program_.node(node));
    add_mutations(tag);
    for (const std::uint32_t node : nodes) add_outputs(program_.node(node), tag);
    TENON_TRY(OwnedEdgeProgram part, std::move(builder_).build());
    return LoweredPartition{std::string(tag),
                            spec.backend_id,
                            spec.compile_specs,
                            std::move(part),
                            std::move(inputs_),
                            std::move(outputs_),
                            nodes};
  }

 private:
  void add_node(const EdgeNode& node) {
    std::vector<EdgeProgramBuilder::Argument> arguments;
    for (std::size_t i = 0; i < node.num_arguments(); ++i) {
      const EdgeArgument argument = node.argument(i);
      arguments.emplace_back(argument.name(), copy_argument(argument, [&](ValueId value) {
                               return number_of(value);
                             }));
    }
    std::vector<ValueId> outputs;
    for (const ValueId id : node.outputs()) {
      const EdgeValue value = program_.value(id);
      outputs.push_back(value.is_tensor() ? builder_.node_output(value.name(), copy_tensor(value))
                                          : builder_.node_output_symbol(value.name(), value.kind(),
                                                                        copy_size(value.range())));
      numbers_.emplace(id, outputs.back());
    }
    builder_.add_node(node.name(), node.target(), arguments, outputs, node.module_path(),
                      node.debug_handle());
  }

  /// The number of a value of the whole program in the part, which gets it when it lacks it.
  ValueId number_of(ValueId id) {
    const auto found = numbers_.find(id);
    if (found != numbers_.end()) return found->second;
    const EdgeValue value = program_.value(id);
    ValueId number = no_value;
    if (!partitions_.tag_of_value(id).empty()) {
      // The owner of the whole program keeps the data.
      number = builder_.stored(value.origin(), value.name(), value.fqn(), copy_tensor(value),
                               SharedBytes::borrow(value.data(), nullptr));
    } else {
      number = value.is_tensor() ? builder_.user_input(value.name(), copy_tensor(value))
                                 : builder_.user_input_symbol(
                                       value.name(), copy_size(value.range()), value.kind());
      inputs_.push_back(id);
    }
    numbers_.emplace(id, number);
    return number;
  }

  void add_mutations(std::string_view tag) {
    for (const EdgeOutput& output : mutations_.of(tag)) {
      builder_.mutation(number_of(output.target), numbers_.at(output.value));
    }
  }

  void add_outputs(const EdgeNode& node, std::string_view tag) {
    for (const ValueId value : node.outputs()) {
      if (!is_needed_outside(value, tag)) continue;
      builder_.user_output(numbers_.at(value));
      outputs_.push_back(value);
    }
  }

  bool is_needed_outside(ValueId value, std::string_view tag) const {
    for (const std::uint32_t user : uses_.users(value)) {
      if (uses_.is_live(user) && partitions_.tag_of(user) != tag) return true;
    }
    // The new content of a buffer that the partition keeps is not an output of any other kind.
    return uses_.is_output(value) && !mutations_.is_content(value, tag);
  }

  const EdgeProgram& program_;
  const EdgeUses& uses_;
  const PartitionResult& partitions_;
  const KeptMutations& mutations_;
  EdgeProgramBuilder builder_;
  std::unordered_map<ValueId, ValueId> numbers_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
};

}  // namespace detail

Result<LoweredProgram> lower(const EdgeProgram& program, const PartitionResult& partitions,
                             const LowerOptions& options) {
  const EdgeUses uses(program);
  TENON_RETURN_IF_ERROR(detail::check_tags(program, uses, partitions, options));
  const detail::PartitionOrder units(program, uses, partitions);
  TENON_TRY(const auto order, units.sort());
  const detail::KeptMutations mutations(program, partitions);
  LoweredProgram out{program, {}, {}, {}};
  for (const auto unit : order) {
    const std::string_view tag = units.tag(unit);
    if (tag.empty()) {
      out.steps.push_back(NodeStep{units.nodes(unit).front()});
      continue;
    }
    TENON_TRY(LoweredPartition part,
              detail::PartitionExtractor(program, uses, partitions, mutations)
                  .extract(tag, partitions.partition_tags.find(tag)->second, units.nodes(unit)));
    out.steps.push_back(DelegateStep{static_cast<std::uint32_t>(out.partitions.size())});
    out.partitions.push_back(std::move(part));
  }
  for (std::size_t i = 0; i < program.num_outputs(); ++i) {
    const EdgeOutput output = program.output(i);
    const bool kept = output.kind == EdgeOutputKind::BufferMutation &&
                      !partitions.tag_of_value(output.target).empty();
    if (!kept) out.outputs.push_back(output);
  }
  return out;
}

PartitionResult partition_whole_program(const EdgeProgram& program, DelegationSpec spec) {
  const EdgeUses uses(program);
  PartitionResult result;
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    if (uses.is_live(i)) result.tag_node(i, "whole");
  }
  if (result.node_tags.empty()) return result;
  result.partition_tags.emplace("whole", std::move(spec));
  tag_constant_data(program, uses, result);
  tag_mutated_buffers(program, uses, result);
  return result;
}

}}}  // namespace tenon::TENON_RELEASE::aot
