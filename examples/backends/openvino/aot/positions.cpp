// SPDX-License-Identifier: MIT
#include "aot/positions.hpp"

#include "aot/operators.hpp"

namespace openvino_backend {

namespace {

bool is_long(const EdgeProgram& program, ValueId id) {
  return program.value(id).is_tensor() && program.value(id).scalar_type() == ScalarType::Long;
}

bool is_float(const EdgeProgram& program, ValueId id) {
  if (!program.value(id).is_tensor()) return false;
  const ScalarType dtype = program.value(id).scalar_type();
  return dtype == ScalarType::Float || dtype == ScalarType::Half || dtype == ScalarType::BFloat16;
}

/// By value: 64-bit integers that elements of the caller decide, or floating-point numbers that
/// become integers.
std::vector<bool> find_unbounded(const EdgeProgram& program) {
  std::vector<bool> out(program.num_values(), false);
  for (const ValueId id : program.inputs()) out[id] = is_long(program, id);
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    const EdgeNode node = program.node(i);
    const OperatorRow* row = find_operator(node.target());
    if (row && row->reads == Reads::Sizes) continue;
    bool depends = false;
    node.for_each_input([&](ValueId id) {
      depends = depends || out[id] || is_float(program, id);
      depends = depends || (!row && program.value(id).is_tensor());
    });
    for (const ValueId id : node.outputs()) out[id] = depends && is_long(program, id);
  }
  return out;
}

}  // namespace

std::vector<bool> find_exact_integers(const EdgeProgram& program, const PartitionResult& result) {
  const EdgeUses uses(program);
  const std::vector<bool> unbounded = find_unbounded(program);
  std::vector<bool> out(program.num_nodes(), true);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const EdgeNode node = program.node(i);
    const OperatorRow* row = find_operator(node.target());
    if (!row || row->reads == Reads::Sizes) continue;
    bool reads = false;
    node.for_each_input([&](ValueId id) { reads = reads || unbounded[id]; });
    const bool moves = row->elements == Elements::Any && row->reads == Reads::Elements;
    for (const ValueId id : node.outputs()) {
      if (!unbounded[id]) {
        if (reads && row->reads != Reads::Indices) out[i] = false;
        continue;
      }
      // Positions of a pooling, for its gradient.
      if (!uses.is_output(id) && uses.users(id).empty()) continue;
      // Moved ones stay inside: there their last reader uses them as indices.
      if (!moves || uses.is_output(id)) out[i] = false;
      for (const std::uint32_t user : uses.users(id)) {
        if (uses.is_live(user) && result.tag_of(user) != result.tag_of(i)) out[i] = false;
      }
    }
  }
  return out;
}

}  // namespace openvino_backend
