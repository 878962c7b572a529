// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/program_verify_values.hpp"

namespace tenon::host::detail {

/// Checks the sizes of planned buffers and the devices that they belong to.
[[nodiscard]] inline Status verify_buffers(const PlanScope& scope) {
  const auto* sizes = scope.plan.non_const_buffer_sizes();
  if (sizes == nullptr) return error(Error::InvalidProgram, "non_const_buffer_sizes is missing");
  if (!aligned(*sizes)) {
    return error(Error::InvalidProgram, "non_const_buffer_sizes is not aligned to 8 bytes");
  }
  if (!scope.limit.take(sizes->size() * sizeof(std::int64_t))) {
    return shared_too_often(Error::InvalidProgram);
  }
  // Entry 0 is reserved, so its number means nothing.
  for (flatbuffers::uoffset_t i = 1; i < sizes->size(); ++i) {
    if (sizes->Get(i) >= 0) continue;
    return error(Error::InvalidProgram, "non_const_buffer_sizes[", i, "] is ", sizes->Get(i),
                 ", expected 0 or more");
  }
  const auto* devices = scope.plan.non_const_buffer_device();
  if (devices == nullptr || devices->size() == 0) return ok();
  std::vector<bool> seen(sizes->size());
  for (flatbuffers::uoffset_t i = 0; i < devices->size(); ++i) {
    const auto& entry = *devices->Get(i);
    const auto buffer = entry.buffer_idx();
    if (buffer < 1 || static_cast<flatbuffers::uoffset_t>(buffer) >= sizes->size()) {
      return error(Error::InvalidProgram, "non_const_buffer_device[", i, "]: buffer_idx is ",
                   buffer, ", expected 1 or more and below ", sizes->size());
    }
    if (seen[static_cast<std::size_t>(buffer)]) {
      return error(Error::InvalidProgram, "non_const_buffer_device[", i, "]: buffer_idx is ",
                   buffer, ", which has a device already");
    }
    seen[static_cast<std::size_t>(buffer)] = true;
    TENON_CHECK(within(verify_device(entry.device_type(), entry.device_index()),
                       "non_const_buffer_device[", i, "]"));
  }
  return ok();
}

/// Checks a list of indices of values.
[[nodiscard]] inline Status verify_value_indices(const PlanScope& scope,
                                                 const flatbuffers::Vector<std::int32_t>* indices,
                                                 std::string_view field) {
  if (indices == nullptr) return error(Error::InvalidProgram, field, " is missing");
  if (!scope.limit.take(indices->size() * sizeof(std::int32_t))) {
    return shared_too_often(Error::InvalidProgram);
  }
  for (flatbuffers::uoffset_t i = 0; i < indices->size(); ++i) {
    TENON_CHECK(verify_index(indices->Get(i), scope.num_values, "values", field, "[", i, "]"));
  }
  return ok();
}

[[nodiscard]] inline Status verify_delegate(const PlanScope& scope,
                                            const schema::BackendDelegate& delegate) {
  TENON_CHECK(verify_c_string(delegate.id(), "id", scope.limit, Error::InvalidProgram));
  const auto* processed = delegate.processed();
  if (processed == nullptr) return error(Error::InvalidProgram, "processed is missing");
  const std::int64_t index = processed->index();
  switch (processed->location()) {
    case schema::DataLocation::INLINE: {
      const auto* all = scope.view.flatbuffer().backend_delegate_data();
      TENON_CHECK(verify_index(index, all == nullptr ? 0 : all->size(), "backend_delegate_data",
                               "processed: index"));
      if (all->Get(processed->index())->data() != nullptr) break;
      return error(Error::InvalidProgram, "processed: backend_delegate_data[", index,
                   "] has no data");
    }
    case schema::DataLocation::SEGMENT:
      TENON_CHECK(verify_index(index, scope.view.num_segments(), "segments", "processed: index"));
      break;
    default:
      return error(Error::InvalidProgram, "processed: location is ",
                   static_cast<int>(processed->location()), ", expected 0 (INLINE) or 1 (SEGMENT)");
  }
  const auto* specs = delegate.compile_specs();
  if (specs == nullptr) return error(Error::InvalidProgram, "compile_specs is missing");
  for (flatbuffers::uoffset_t i = 0; i < specs->size(); ++i) {
    const auto& spec = *specs->Get(i);
    TENON_CHECK(within(verify_c_string(spec.key(), "key", scope.limit, Error::InvalidProgram),
                       "compile_specs[", i, "]"));
    if (spec.value() != nullptr) continue;
    return error(Error::InvalidProgram, "compile_specs[", i, "]: value is missing");
  }
  return ok();
}

[[nodiscard]] inline Status verify_instruction(const PlanScope& scope,
                                               const schema::Instruction& instruction,
                                               std::size_t num_instructions) {
  using schema::InstructionArguments;
  const auto type = instruction.instr_args_type();
  if (type == InstructionArguments::NONE || type > InstructionArguments::MAX) {
    return error(Error::InvalidProgram, "type is ", static_cast<int>(type), ", expected 1 to ",
                 static_cast<int>(InstructionArguments::MAX));
  }
  if (instruction.instr_args() == nullptr) {
    return error(Error::InvalidProgram, "instr_args is missing");
  }
  switch (type) {
    case InstructionArguments::KernelCall: {
      const auto& call = *instruction.instr_args_as_KernelCall();
      const auto* operators = scope.plan.operators();
      TENON_CHECK(verify_index(call.op_index(), operators == nullptr ? 0 : operators->size(),
                               "operators", "op_index"));
      return verify_value_indices(scope, call.args(), "args");
    }
    case InstructionArguments::DelegateCall: {
      const auto& call = *instruction.instr_args_as_DelegateCall();
      TENON_CHECK(verify_index(call.delegate_index(), scope.plan.delegates()->size(), "delegates",
                               "delegate_index"));
      return verify_value_indices(scope, call.args(), "args");
    }
    case InstructionArguments::MoveCall: {
      const auto& move = *instruction.instr_args_as_MoveCall();
      TENON_CHECK(verify_index(move.move_from(), scope.num_values, "values", "move_from"));
      return verify_index(move.move_to(), scope.num_values, "values", "move_to");
    }
    case InstructionArguments::JumpFalseCall: {
      const auto& jump = *instruction.instr_args_as_JumpFalseCall();
      TENON_CHECK(
          verify_index(jump.cond_value_index(), scope.num_values, "values", "cond_value_index"));
      const std::int64_t target = jump.destination_instruction();
      if (target >= 0 && static_cast<std::uint64_t>(target) <= num_instructions) return ok();
      return error(Error::InvalidProgram, "destination_instruction is ", target, ", expected 0 to ",
                   num_instructions, ", the end of the chain");
    }
    default:
      return verify_index(instruction.instr_args_as_FreeCall()->value_index(), scope.num_values,
                          "values", "value_index");
  }
}

[[nodiscard]] inline Status verify_chain(const PlanScope& scope, const schema::Chain& chain) {
  // A chain's own inputs and outputs are not used by any runtime, so they may be absent.
  if (chain.inputs() != nullptr) {
    TENON_CHECK(verify_value_indices(scope, chain.inputs(), "inputs"));
  }
  if (chain.outputs() != nullptr) {
    TENON_CHECK(verify_value_indices(scope, chain.outputs(), "outputs"));
  }
  const auto* instructions = chain.instructions();
  if (instructions == nullptr) return error(Error::InvalidProgram, "instructions is missing");
  for (flatbuffers::uoffset_t i = 0; i < instructions->size(); ++i) {
    const auto& instruction = *instructions->Get(i);
    TENON_CHECK(within(verify_instruction(scope, instruction, instructions->size()), "instruction ",
                       i, " (", schema::EnumNameInstructionArguments(instruction.instr_args_type()),
                       ")"));
  }
  return ok();
}

/// Checks one method: everything of it that a host reads. `view` has verified segments.
///
/// errors: as `verify_program`.
[[nodiscard]] inline Status verify_plan(const ProgramView& view, const schema::ExecutionPlan& plan,
                                        WorkLimit& limit) {
  PlanScope scope{view, plan, limit};
  TENON_CHECK(verify_buffers(scope));
  if (plan.values() == nullptr) return error(Error::InvalidProgram, "values is missing");
  scope.num_values = plan.values()->size();
  for (flatbuffers::uoffset_t i = 0; i < plan.values()->size(); ++i) {
    const auto& value = *plan.values()->Get(i);
    TENON_CHECK(within(verify_value(scope, value), "value ", i, " (",
                       schema::EnumNameKernelTypes(value.val_type()), ")"));
  }
  TENON_CHECK(verify_value_indices(scope, plan.inputs(), "inputs"));
  TENON_CHECK(verify_value_indices(scope, plan.outputs(), "outputs"));
  if (const auto* operators = plan.operators(); operators != nullptr) {
    for (flatbuffers::uoffset_t i = 0; i < operators->size(); ++i) {
      TENON_CHECK(
          within(verify_c_string(operators->Get(i)->name(), "name", limit, Error::InvalidProgram),
                 "operator ", i));
    }
  }
  const auto* delegates = plan.delegates();
  if (delegates == nullptr) return error(Error::InvalidProgram, "delegates is missing");
  for (flatbuffers::uoffset_t i = 0; i < delegates->size(); ++i) {
    TENON_CHECK(within(verify_delegate(scope, *delegates->Get(i)), "delegate ", i));
  }
  const auto* chains = plan.chains();
  if (chains == nullptr || chains->size() == 0) {
    return error(Error::InvalidProgram, "chains is missing or empty");
  }
  for (flatbuffers::uoffset_t i = 0; i < chains->size(); ++i) {
    TENON_CHECK(within(verify_chain(scope, *chains->Get(i)), "chain ", i));
  }
  return ok();
}

}  // namespace tenon::host::detail
