// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/partition/partition_by_backends.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

#include "tenon/aot/compiler/impl/lower/copy_edge.hpp"
#include "tenon/aot/compiler/lower/lower.hpp"
#include "tenon/aot/compiler/lower/lowered_program.hpp"
#include "tenon/aot/edge_program_builder.hpp"
#include "tenon/aot/edge_uses.hpp"
#include "tenon/aot/shared_bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// A program as the next backend sees it: what others took is one node for each partition, as it
/// is in ExecuTorch (executorch_call_delegate). Refers to the data of the whole program.
class RestOfProgram {
 public:
  [[nodiscard]] static Result<RestOfProgram> make(const LoweredProgram& lowered) {
    RestOfProgram out(lowered);
    for (const ValueId input : lowered.program.inputs()) out.number_of(input);
    for (const LoweredStep& step : lowered.steps) {
      if (const auto* one = std::get_if<NodeStep>(&step)) {
        out.add_node(one->node);
      } else {
        out.add_delegate(std::get<DelegateStep>(step).partition);
      }
    }
    for (const EdgeOutput& output : lowered.outputs) {
      const ValueId target = output.target == no_value ? no_value : out.number_of(output.target);
      out.builder_.add_output({output.kind, out.number_of(output.value), target});
    }
    TENON_TRY(OwnedEdgeProgram program, std::move(out.builder_).build());
    out.program_.emplace(std::move(program));
    return out;
  }

  [[nodiscard]] EdgeProgram view() const noexcept { return program_->view(); }

  /// Adds what a backend chose here to what was chosen before, as tags of the whole program.
  Status add_to(PartitionResult& all, const PartitionResult& chosen,
                std::string_view backend_id) const {
    const auto rename = [&](std::string_view tag) { return concat(backend_id, "/", tag); };
    for (const auto& [tag, spec] : chosen.partition_tags) {
      if (all.partition_tags.emplace(rename(tag), spec).second) continue;
      return error(Error::InvalidArgument, "backend ", backend_id, " was named twice");
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const std::string_view tag = chosen.tag_of(i);
      if (tag.empty()) continue;
      if (nodes_[i] == EdgeUses::no_node) {
        return error(Error::InvalidArgument, "backend ", backend_id, ": partition: node '",
                     view().node(i).name(), "' belongs to another backend");
      }
      all.tag_node(nodes_[i], rename(tag));
    }
    for (ValueId value = 0; value < values_.size(); ++value) {
      const std::string_view tag = chosen.tag_of_value(value);
      if (!tag.empty()) all.tag_value(values_[value], rename(tag));
    }
    return ok();
  }

 private:
  explicit RestOfProgram(const LoweredProgram& lowered)
      : lowered_(&lowered), builder_(lowered.program.method_name()) {}

  [[nodiscard]] EdgeProgram whole() const noexcept { return lowered_->program; }

  ValueId keep(ValueId id, ValueId number) {
    numbers_.emplace(id, number);
    values_.push_back(id);
    return number;
  }

  /// The number, in this program, of a value of the whole program that is not a node's output.
  ValueId number_of(ValueId id) {
    if (const auto found = numbers_.find(id); found != numbers_.end()) return found->second;
    const EdgeValue value = whole().value(id);
    if (value.has_fqn()) {
      return keep(id, builder_.stored(value.origin(), value.name(), value.fqn(), copy_tensor(value),
                                      SharedBytes::borrow(value.data(), nullptr)));
    }
    return keep(id, value.is_tensor() ? builder_.user_input(value.name(), copy_tensor(value))
                                      : builder_.user_input_symbol(
                                            value.name(), copy_size(value.range()), value.kind()));
  }

  std::vector<ValueId> add_outputs(std::span<const ValueId> ids) {
    std::vector<ValueId> out;
    for (const ValueId id : ids) {
      const EdgeValue value = whole().value(id);
      out.push_back(keep(id, value.is_tensor()
                                 ? builder_.node_output(value.name(), copy_tensor(value))
                                 : builder_.node_output_symbol(value.name(), value.kind(),
                                                               copy_size(value.range()))));
    }
    return out;
  }

  void add_node(std::uint32_t number) {
    const EdgeNode node = whole().node(number);
    std::vector<EdgeProgramBuilder::Argument> arguments;
    for (std::size_t i = 0; i < node.num_arguments(); ++i) {
      const EdgeArgument argument = node.argument(i);
      arguments.emplace_back(argument.name(), copy_argument(argument, [&](ValueId value) {
                               return number_of(value);
                             }));
    }
    builder_.add_node(node.name(), node.target(), arguments, add_outputs(node.outputs()),
                      node.module_path(), node.debug_handle());
    nodes_.push_back(number);
  }

  void add_delegate(std::uint32_t number) {
    const LoweredPartition& partition = lowered_->partitions[number];
    std::vector<ValueId> inputs;
    for (const ValueId id : partition.inputs) inputs.push_back(number_of(id));
    // No operator of PyTorch has a name with a space.
    builder_.add_node(concat("delegate ", number), "higher_order.executorch_call_delegate",
                      {{"inputs", std::move(inputs)}}, add_outputs(partition.outputs));
    nodes_.push_back(EdgeUses::no_node);
  }

  const LoweredProgram* lowered_;
  EdgeProgramBuilder builder_;
  std::unordered_map<ValueId, ValueId> numbers_;
  std::vector<ValueId> values_;       ///< By value here: its number in the whole program.
  std::vector<std::uint32_t> nodes_;  ///< By node here: its number there; `no_node`: a delegate.
  std::optional<OwnedEdgeProgram> program_;
};

}  // namespace detail

Result<PartitionResult> partition_by_backends(const EdgeProgram& program,
                                              std::span<const BackendToUse> backends) {
  PartitionResult all;
  for (const BackendToUse& one : backends) {
    const std::string_view id = one.backend.id();
    const auto with_backend = [&](Status failure) {
      return std::move(failure).with_context(concat("partitions of backend ", id));
    };
    auto lowered = lower(program, all);
    if (!lowered.ok()) return with_backend(std::move(lowered).status());
    TENON_TRY(const auto rest, detail::RestOfProgram::make(*lowered));
    auto chosen = one.whole_program ? Result<PartitionResult>(partition_whole_program(
                                          rest.view(), {std::string(id), one.compile_specs}))
                                    : one.backend.partition(rest.view(), one.compile_specs);
    if (!chosen.ok()) return std::move(chosen).status();
    if (Status checked = check_partition(rest.view(), *chosen); !checked.ok()) {
      return with_backend(std::move(checked));
    }
    TENON_RETURN_IF_ERROR(rest.add_to(all, *chosen, id));
  }
  return all;
}

}}}  // namespace tenon::TENON_RELEASE::aot
