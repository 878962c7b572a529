// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/lower/check_partition.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/aot/compiler/impl/lower/partition_order.hpp"
#include "tenon/aot/edge_uses.hpp"
#include "tenon/aot/tag_data.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

inline Status check_tag(const PartitionResult& partitions, std::string_view what,
                        std::string_view name, std::string_view tag) {
  if (partitions.partition_tags.find(tag) != partitions.partition_tags.end()) return ok();
  return error(Error::InvalidArgument, what, " '", name, "' has tag '", tag,
               "', which has no delegation spec");
}

inline Status no_such(std::string_view what, std::size_t index, std::string_view tag,
                      std::size_t count) {
  return error(Error::InvalidArgument, what, " ", index, " has tag '", tag,
               "', but the program has ", count, " ", what, "s");
}

/// The name of a node outside partition `tag` that reads `value`; empty when there is none.
inline std::string_view other_reader(const EdgeProgram& program, const EdgeUses& uses,
                                     const PartitionResult& partitions, ValueId value,
                                     std::string_view tag) {
  for (const std::uint32_t user : uses.users(value)) {
    if (uses.is_live(user) && partitions.tag_of(user) != tag) return program.node(user).name();
  }
  return {};
}

/// `times` is how often `content` is an output of the program.
inline Status check_mutated_buffer(const EdgeProgram& program, const EdgeUses& uses,
                                   const PartitionResult& partitions, ValueId buffer,
                                   ValueId content, std::size_t times, std::string_view tag) {
  const std::string_view name = program.value(buffer).name();
  const std::string_view reader = other_reader(program, uses, partitions, buffer, tag);
  if (!reader.empty()) {
    return error(Error::InvalidArgument, "mutated buffer '", name, "' is tagged with '", tag,
                 "' but '", reader, "' reads it, which is not in that partition");
  }
  if (uses.is_output(buffer)) {
    return error(Error::InvalidArgument, "mutated buffer '", name, "' is tagged with '", tag,
                 "' and is an output of the method itself");
  }
  const std::uint32_t producer = uses.producer(content);
  if (producer == EdgeUses::no_node || partitions.tag_of(producer) != tag) {
    return error(Error::InvalidArgument, "mutated buffer '", name, "' is tagged with '", tag,
                 "' but its new content '", program.value(content).name(),
                 "' is not made in that partition");
  }
  if (times == 1) return ok();
  return error(Error::InvalidArgument, "mutated buffer '", name, "' is tagged with '", tag,
               "' but its new content '", program.value(content).name(),
               "' is also another output of the method");
}

inline Status check_value_tags(const EdgeProgram& program, const EdgeUses& uses,
                               const PartitionResult& partitions, const LowerOptions& options) {
  const std::vector<ValueId> mutations = find_mutations(program);
  std::vector<std::size_t> times(program.num_values());
  for (std::size_t i = 0; i < program.num_outputs(); ++i) ++times[program.output(i).value];
  for (ValueId value = 0; value < partitions.value_tags.size(); ++value) {
    const std::string_view tag = partitions.tag_of_value(value);
    if (tag.empty()) continue;
    if (value >= program.num_values()) return no_such("value", value, tag, program.num_values());
    const std::string_view name = program.value(value).name();
    TENON_RETURN_IF_ERROR(check_tag(partitions, "value", name, tag));
    if (!program.value(value).has_fqn()) {
      return error(Error::InvalidArgument, "value '", name, "' has tag '", tag,
                   "', but is not a parameter, buffer or constant");
    }
    if (mutations[value] != no_value) {
      TENON_RETURN_IF_ERROR(check_mutated_buffer(program, uses, partitions, value, mutations[value],
                                                 times[mutations[value]], tag));
    } else if (!options.duplicate_constants) {
      const std::string_view reader = other_reader(program, uses, partitions, value, tag);
      if (reader.empty() && !uses.is_output(value)) continue;
      return error(Error::InvalidArgument, "constant data '", name, "' is tagged with '", tag,
                   "' but ", reader.empty() ? "the method returns it" : "read by '", reader,
                   reader.empty() ? "" : "', which is not in that partition");
    }
  }
  return ok();
}

/// All but the order of the partitions.
inline Status check_tags(const EdgeProgram& program, const EdgeUses& uses,
                         const PartitionResult& partitions, const LowerOptions& options) {
  for (const auto& [tag, spec] : partitions.partition_tags) {
    if (tag.empty())
      return error(Error::InvalidArgument, "partition_tags: the tag of a partition for backend '",
                   spec.backend_id, "' is empty");
    if (spec.backend_id.empty()) {
      return error(Error::InvalidArgument, "the delegation spec of tag '", tag,
                   "' names no backend");
    }
  }
  for (std::size_t i = 0; i < partitions.node_tags.size(); ++i) {
    const std::string_view tag = partitions.tag_of(i);
    if (tag.empty()) continue;
    if (i >= program.num_nodes()) return no_such("node", i, tag, program.num_nodes());
    TENON_RETURN_IF_ERROR(check_tag(partitions, "node", program.node(i).name(), tag));
  }
  return check_value_tags(program, uses, partitions, options);
}

}  // namespace detail

Status check_partition(const EdgeProgram& program, const PartitionResult& partitions,
                       const LowerOptions& options) {
  const EdgeUses uses(program);
  TENON_RETURN_IF_ERROR(detail::check_tags(program, uses, partitions, options));
  TENON_RETURN_IF_ERROR(detail::PartitionOrder(program, uses, partitions).sort());
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::aot
