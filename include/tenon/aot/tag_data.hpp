// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/edge_uses.hpp"
#include "tenon/aot/partition_result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// By value: the new content that a call leaves in this buffer or user input; `no_value` for what
/// no call changes.
[[nodiscard]] inline std::vector<ValueId> find_mutations(const EdgeProgram& program) {
  std::vector<ValueId> out(program.num_values(), no_value);
  for (std::size_t i = 0; i < program.num_outputs(); ++i) {
    const EdgeOutput output = program.output(i);
    if (output.kind != EdgeOutputKind::UserOutput) out[output.target] = output.value;
  }
  return out;
}

/// Lets partitions keep the parameters, constants and buffers that they read and that no call
/// changes (ExecuTorch: exir/backend/utils.py, tag_constant_data). What several partitions read,
/// each of them keeps; it is not copied until they write it to their blobs. Call it when the nodes
/// have their tags. A value that has one already keeps it.
inline void tag_constant_data(const EdgeProgram& program, const EdgeUses& uses,
                              PartitionResult& result) {
  const std::vector<ValueId> mutations = find_mutations(program);
  for (ValueId value = 0; value < program.num_values(); ++value) {
    if (!program.value(value).has_fqn() || mutations[value] != no_value) continue;
    std::string_view first;
    for (const std::uint32_t user : uses.users(value)) {
      const std::string_view tag = result.tag_of(user);
      if (!tag.empty() && (first.empty() || tag < first)) first = tag;
    }
    if (!first.empty() && result.tag_of_value(value).empty()) result.tag_value(value, first);
  }
}

/// Lets a partition keep the buffers that it alone reads and changes (ExecuTorch:
/// tag_mutated_buffer there): a delegate then holds the state from one call to the next, and the
/// method neither stores nor copies it. A buffer that is read elsewhere, that the caller sees, or
/// whose new content is an output of another kind too, stays with the method.
inline void tag_mutated_buffers(const EdgeProgram& program, const EdgeUses& uses,
                                PartitionResult& result) {
  std::vector<std::uint32_t> times_output(program.num_values(), 0);
  for (std::size_t i = 0; i < program.num_outputs(); ++i) ++times_output[program.output(i).value];
  for (std::size_t i = 0; i < program.num_outputs(); ++i) {
    const EdgeOutput output = program.output(i);
    if (output.kind != EdgeOutputKind::BufferMutation) continue;
    const std::uint32_t producer = uses.producer(output.value);
    if (producer == EdgeUses::no_node || times_output[output.value] != 1 ||
        uses.is_output(output.target)) {
      continue;
    }
    const std::string_view tag = result.tag_of(producer);
    bool alone = !tag.empty();
    for (const std::uint32_t user : uses.users(output.target)) {
      alone = alone && (!uses.is_live(user) || result.tag_of(user) == tag);
    }
    if (alone && result.tag_of_value(output.target).empty()) result.tag_value(output.target, tag);
  }
}

}}}  // namespace tenon::TENON_RELEASE::aot
