// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/impl/program/flatbuffer_root.hpp"
#include "tenon/host/loader/program/key_index.hpp"
#include "tenon/host/loader/program/program_view.hpp"
#include "tenon/host/loader/program/tensor_layout.hpp"
#include "tenon/host/schema/program_generated.h"

/// Checks of a program, from the parts to the whole: values, then plans, then the program.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The subject of the checks of one plan. Segments and planned buffers have been checked when
/// values are.
struct PlanScope {
  const ProgramView& view;
  const schema::ExecutionPlan& plan;
  WorkLimit& limit;
  bool& has_devices;  ///< Set by what names a device that is not the CPU.
  std::size_t num_segments = view.num_segments();
  std::size_t num_values = 0;
};

[[nodiscard, gnu::cold]] inline Status no_index(std::int64_t found, std::size_t count,
                                                std::string_view list, tenon::detail::Piece a,
                                                tenon::detail::Piece b = "",
                                                tenon::detail::Piece c = "",
                                                tenon::detail::Piece d = "") {
  return error(Error::InvalidProgram, a, b, c, d, " is ", found, ", expected an index of one of ",
               count, " ", list);
}

/// Checks that `found` is an index into a list of `count` entries called `list`. The pieces name
/// the field.
template <class... Pieces>
[[nodiscard, gnu::always_inline]] inline Status verify_index(std::int64_t found, std::size_t count,
                                                             std::string_view list,
                                                             const Pieces&... pieces) {
  if (found >= 0 && static_cast<std::uint64_t>(found) < count) [[likely]]
    return ok();
  return no_index(found, count, list, pieces...);
}

[[nodiscard]] inline Status verify_device(const PlanScope& scope, schema::DeviceType type,
                                          std::int8_t index) {
  if (type < schema::DeviceType::MIN || type > schema::DeviceType::MAX) {
    return error(Error::InvalidProgram, "device_type is ", static_cast<int>(type),
                 ", expected 0 (CPU) or 1 (CUDA)");
  }
  if (index < 0) {
    return error(Error::InvalidProgram, "device_index is ", static_cast<int>(index),
                 ", expected 0 or more");
  }
  scope.has_devices |= type != schema::DeviceType::CPU;
  return ok();
}

/// Checks an address in planned memory (HierarchicalAllocator::get_offset_address).
[[nodiscard]] inline Status verify_allocation(const PlanScope& scope,
                                              const schema::AllocationDetails& place,
                                              std::uint64_t nbytes, std::uint64_t alignment) {
  const auto& buffers = *scope.plan.non_const_buffer_sizes();
  if (place.memory_id() == 0) {
    return error(Error::InvalidProgram, "allocation_info: memory_id is 0, which is reserved");
  }
  if (place.memory_id() >= buffers.size()) {
    return error(Error::InvalidProgram, "allocation_info: memory_id is ", place.memory_id(),
                 ", expected below ", buffers.size(), ", the number of buffer sizes");
  }
  const auto size = static_cast<std::uint64_t>(buffers.Get(place.memory_id()));
  const auto offset = std::uint64_t{place.memory_offset_high()} << 32 | place.memory_offset_low();
  if (offset > size || nbytes > size - offset) {
    return error(Error::InvalidProgram, "allocation_info: ", nbytes, " bytes at offset ", offset,
                 " are expected in planned buffer ", place.memory_id(), ", which has ", size);
  }
  if (offset % alignment != 0) {
    return error(Error::InvalidProgram, "allocation_info: offset ", offset,
                 " is not a multiple of the element size, ", alignment);
  }
  return ok();
}

/// Checks where a tensor's data comes from (tensor_parser_exec_aten.cpp, getTensorDataPtr).
[[nodiscard]] inline Status verify_data_source(const PlanScope& scope,
                                               const schema::Tensor& tensor) {
  const auto layout = layout_of(tensor);
  const std::uint64_t nbytes = layout.nbytes();
  const std::uint64_t alignment = size_of(layout.scalar_type);
  const auto* extra = tensor.extra_tensor_info();
  if (tensor.allocation_info() != nullptr) {
    TENON_RETURN_IF_ERROR(verify_allocation(scope, *tensor.allocation_info(), nbytes, alignment));
  }
  if (extra != nullptr && extra->location() == schema::TensorDataLocation::EXTERNAL) {
    if (extra->fully_qualified_name() == nullptr || extra->fully_qualified_name()->size() == 0) {
      return error(Error::InvalidExternalData,
                   "fully_qualified_name is missing, but the data is external");
    }
    return ok();
  }
  const auto index = tensor.data_buffer_idx();
  if (index == 0) return ok();
  if (tensor.allocation_info() != nullptr) {
    const auto segment = extra == nullptr ? 0 : extra->mutable_data_segments_idx();
    const auto data = scope.view.mutable_data(segment, index, nbytes);
    if (data.ok()) return ok();
    return error(Error::InvalidProgram, "data_buffer_idx: ", data.text());
  }
  const auto data = scope.view.constant_data(index, nbytes);
  if (!data.ok()) return error(Error::InvalidProgram, "data_buffer_idx: ", data.text());
  if (reinterpret_cast<std::uintptr_t>(data->data()) % alignment != 0 && nbytes != 0) {
    return error(Error::InvalidProgram, "data_buffer_idx: the data of constant ", index,
                 " is not aligned to the element size, ", alignment);
  }
  return ok();
}

[[nodiscard]] inline Status verify_tensor(const PlanScope& scope, const schema::Tensor& tensor) {
  using schema::TensorShapeDynamism;
  if (tensor.storage_offset() != 0) {
    return error(Error::NotSupported, "storage_offset is ", tensor.storage_offset(),
                 ", only 0 is supported");
  }
  TENON_RETURN_IF_ERROR(verify_layout(tensor, Error::InvalidProgram));
  if (tensor.shape_dynamism() == TensorShapeDynamism::DYNAMIC_UNBOUND) {
    return error(Error::NotSupported, "shape_dynamism is DYNAMIC_UNBOUND, which no host supports");
  }
  if (tensor.shape_dynamism() < TensorShapeDynamism::MIN ||
      tensor.shape_dynamism() > TensorShapeDynamism::MAX) {
    return error(Error::InvalidProgram, "shape_dynamism is ",
                 static_cast<int>(tensor.shape_dynamism()), ", expected 0 to 2");
  }
  if (const auto* extra = tensor.extra_tensor_info(); extra != nullptr) {
    TENON_RETURN_IF_ERROR(verify_name_size(extra->fully_qualified_name(), "fully_qualified_name",
                                           scope.limit.limits()));
    TENON_RETURN_IF_ERROR(verify_device(scope, extra->device_type(), extra->device_index()));
    if (extra->location() < schema::TensorDataLocation::MIN ||
        extra->location() > schema::TensorDataLocation::MAX) {
      return error(Error::InvalidProgram, "location is ", static_cast<int>(extra->location()),
                   ", expected 0 (SEGMENT) or 1 (EXTERNAL)");
    }
  }
  return verify_data_source(scope, tensor);
}

/// Checks that items are present, aligned, and no more work than the size of the file justifies.
template <class Element>
[[nodiscard]] Status verify_items(const PlanScope& scope,
                                  const flatbuffers::Vector<Element>* items) {
  if (items == nullptr) return error(Error::InvalidProgram, "items is missing");
  if (!aligned(*items)) {
    return error(Error::InvalidProgram, "items is not aligned to ", sizeof(Element), " bytes");
  }
  if (!scope.limit.take(std::uint64_t{items->size()} * sizeof(Element))) {
    return shared_too_often(Error::InvalidProgram);
  }
  return ok();
}

/// Checks a list whose items are indices of values of one kind. `or_none` also allows -1 and values
/// of kind Null (tensor_parser.h, parseListOptionalType).
template <class Element>
[[nodiscard]] Status verify_value_list(const PlanScope& scope,
                                       const flatbuffers::Vector<Element>* items,
                                       schema::KernelTypes kind, bool or_none) {
  TENON_RETURN_IF_ERROR(verify_items(scope, items));
  for (flatbuffers::uoffset_t i = 0; i < items->size(); ++i) {
    const std::int64_t item = items->Get(i);
    if (item == -1 && or_none) continue;
    TENON_RETURN_IF_ERROR(verify_index(item, scope.num_values, "values", "items[", i, "]"));
    const auto found =
        scope.plan.values()->Get(static_cast<flatbuffers::uoffset_t>(item))->val_type();
    if (found == kind || (or_none && found == schema::KernelTypes::Null)) continue;
    return error(Error::InvalidProgram, "items[", i, "] is value ", item, " of kind ",
                 schema::EnumNameKernelTypes(found), ", expected ",
                 schema::EnumNameKernelTypes(kind), or_none ? " or Null" : "");
  }
  return ok();
}

/// Checks a byte that C++ will read as `bool`, where another number is undefined behaviour.
[[nodiscard]] inline Status verify_bool(std::uint8_t byte) {
  if (byte <= 1) return ok();
  return error(Error::InvalidProgram, "boolean is ", int{byte}, ", expected 0 or 1");
}

[[nodiscard]] inline Status verify_value(const PlanScope& scope, const schema::EValue& value) {
  using schema::KernelTypes;
  const auto kind = value.val_type();
  if (kind == KernelTypes::NONE || kind > KernelTypes::MAX) {
    return error(Error::InvalidProgram, "kind is ", static_cast<int>(kind), ", expected 1 to ",
                 static_cast<int>(KernelTypes::MAX));
  }
  if (value.val() == nullptr) return error(Error::InvalidProgram, "val is missing");
  switch (kind) {
    case KernelTypes::Bool:
      return verify_bool(static_cast<const flatbuffers::Table*>(value.val())
                             ->GetField<std::uint8_t>(schema::Bool::VT_BOOL_VAL, 0));
    case KernelTypes::Tensor:
      return verify_tensor(scope, *value.val_as_Tensor());
    case KernelTypes::String:
      if (value.val_as_String()->string_val() != nullptr) return ok();
      return error(Error::InvalidProgram, "string_val is missing");
    case KernelTypes::IntList:
      return verify_value_list(scope, value.val_as_IntList()->items(), KernelTypes::Int, false);
    case KernelTypes::DoubleList:
      return verify_items(scope, value.val_as_DoubleList()->items());
    case KernelTypes::BoolList: {
      const auto* items = value.val_as_BoolList()->items();
      TENON_RETURN_IF_ERROR(verify_items(scope, items));
      for (flatbuffers::uoffset_t i = 0; i < items->size(); ++i) {
        TENON_RETURN_IF_ERROR(with_location(verify_bool(items->Get(i)), "items[", i, "]"));
      }
      return ok();
    }
    case KernelTypes::TensorList:
      return verify_value_list(scope, value.val_as_TensorList()->items(), KernelTypes::Tensor,
                               false);
    case KernelTypes::OptionalTensorList:
      return verify_value_list(scope, value.val_as_OptionalTensorList()->items(),
                               KernelTypes::Tensor, true);
    default:
      return ok();
  }
}

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
    TENON_RETURN_IF_ERROR(
        with_location(verify_device(scope, entry.device_type(), entry.device_index()),
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
  // Without a branch for each: a negative one is a very large one.
  std::uint32_t largest = 0;
  for (const std::int32_t index : *indices) {
    largest = std::max(largest, static_cast<std::uint32_t>(index));
  }
  if (largest < scope.num_values || indices->size() == 0) [[likely]]
    return ok();
  for (flatbuffers::uoffset_t i = 0; i < indices->size(); ++i) {
    TENON_RETURN_IF_ERROR(
        verify_index(indices->Get(i), scope.num_values, "values", field, "[", i, "]"));
  }
  return ok();
}

[[nodiscard]] inline Status verify_delegate(const PlanScope& scope,
                                            const schema::BackendDelegate& delegate) {
  TENON_RETURN_IF_ERROR(verify_c_string(delegate.id(), "id", scope.limit, Error::InvalidProgram));
  const auto* processed = delegate.processed();
  if (processed == nullptr) return error(Error::InvalidProgram, "processed is missing");
  const std::int64_t index = processed->index();
  switch (processed->location()) {
    case schema::DataLocation::INLINE: {
      const auto* all = scope.view.flatbuffer().backend_delegate_data();
      TENON_RETURN_IF_ERROR(verify_index(index, all == nullptr ? 0 : all->size(),
                                         "backend_delegate_data", "processed: index"));
      if (all->Get(processed->index())->data() != nullptr) break;
      return error(Error::InvalidProgram, "processed: backend_delegate_data[", index,
                   "] has no data");
    }
    case schema::DataLocation::SEGMENT:
      TENON_RETURN_IF_ERROR(
          verify_index(index, scope.num_segments, "segments", "processed: index"));
      break;
    default:
      return error(Error::InvalidProgram, "processed: location is ",
                   static_cast<int>(processed->location()), ", expected 0 (INLINE) or 1 (SEGMENT)");
  }
  const auto* specs = delegate.compile_specs();
  if (specs == nullptr) return error(Error::InvalidProgram, "compile_specs is missing");
  for (flatbuffers::uoffset_t i = 0; i < specs->size(); ++i) {
    const auto& spec = *specs->Get(i);
    TENON_RETURN_IF_ERROR(
        with_location(verify_c_string(spec.key(), "key", scope.limit, Error::InvalidProgram),
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
      TENON_RETURN_IF_ERROR(verify_index(
          call.op_index(), operators == nullptr ? 0 : operators->size(), "operators", "op_index"));
      return verify_value_indices(scope, call.args(), "args");
    }
    case InstructionArguments::DelegateCall: {
      const auto& call = *instruction.instr_args_as_DelegateCall();
      TENON_RETURN_IF_ERROR(verify_index(call.delegate_index(), scope.plan.delegates()->size(),
                                         "delegates", "delegate_index"));
      return verify_value_indices(scope, call.args(), "args");
    }
    case InstructionArguments::MoveCall: {
      const auto& move = *instruction.instr_args_as_MoveCall();
      TENON_RETURN_IF_ERROR(
          verify_index(move.move_from(), scope.num_values, "values", "move_from"));
      return verify_index(move.move_to(), scope.num_values, "values", "move_to");
    }
    case InstructionArguments::JumpFalseCall: {
      const auto& jump = *instruction.instr_args_as_JumpFalseCall();
      TENON_RETURN_IF_ERROR(
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
    TENON_RETURN_IF_ERROR(verify_value_indices(scope, chain.inputs(), "inputs"));
  }
  if (chain.outputs() != nullptr) {
    TENON_RETURN_IF_ERROR(verify_value_indices(scope, chain.outputs(), "outputs"));
  }
  const auto* instructions = chain.instructions();
  if (instructions == nullptr) return error(Error::InvalidProgram, "instructions is missing");
  for (flatbuffers::uoffset_t i = 0; i < instructions->size(); ++i) {
    const auto& instruction = *instructions->Get(i);
    Status outcome = verify_instruction(scope, instruction, instructions->size());
    if (outcome.ok()) [[likely]]
      continue;
    return with_location(std::move(outcome), "instruction ", i, " (",
                         schema::EnumNameInstructionArguments(instruction.instr_args_type()), ")");
  }
  return ok();
}

/// Checks one method: everything of it that a host reads. `view` has verified segments.
/// `has_devices` is set when it names a device that is not the CPU.
///
/// errors: as `verify_program`.
[[nodiscard]] inline Status verify_plan(const ProgramView& view, const schema::ExecutionPlan& plan,
                                        WorkLimit& limit, bool& has_devices) {
  PlanScope scope{view, plan, limit, has_devices};
  TENON_RETURN_IF_ERROR(verify_buffers(scope));
  if (plan.values() == nullptr) return error(Error::InvalidProgram, "values is missing");
  scope.num_values = plan.values()->size();
  if (scope.num_values > limit.limits().values) {
    return over_limit("values", scope.num_values, "values", limit.limits().values);
  }
  for (flatbuffers::uoffset_t i = 0; i < plan.values()->size(); ++i) {
    const auto& value = *plan.values()->Get(i);
    Status outcome = verify_value(scope, value);
    if (outcome.ok()) [[likely]]
      continue;
    return with_location(std::move(outcome), "value ", i, " (",
                         schema::EnumNameKernelTypes(value.val_type()), ")");
  }
  TENON_RETURN_IF_ERROR(verify_value_indices(scope, plan.inputs(), "inputs"));
  TENON_RETURN_IF_ERROR(verify_value_indices(scope, plan.outputs(), "outputs"));
  if (const auto* operators = plan.operators(); operators != nullptr) {
    for (flatbuffers::uoffset_t i = 0; i < operators->size(); ++i) {
      TENON_RETURN_IF_ERROR(with_location(
          verify_c_string(operators->Get(i)->name(), "name", limit, Error::InvalidProgram),
          "operator ", i));
      TENON_RETURN_IF_ERROR(
          with_location(verify_name_size(operators->Get(i)->overload(), "overload", limit.limits()),
                        "operator ", i));
    }
  }
  const auto* delegates = plan.delegates();
  if (delegates == nullptr) return error(Error::InvalidProgram, "delegates is missing");
  for (flatbuffers::uoffset_t i = 0; i < delegates->size(); ++i) {
    TENON_RETURN_IF_ERROR(
        with_location(verify_delegate(scope, *delegates->Get(i)), "delegate ", i));
  }
  const auto* chains = plan.chains();
  if (chains == nullptr || chains->size() == 0) {
    return error(Error::InvalidProgram, "chains is missing or empty");
  }
  for (flatbuffers::uoffset_t i = 0; i < chains->size(); ++i) {
    TENON_RETURN_IF_ERROR(with_location(verify_chain(scope, *chains->Get(i)), "chain ", i));
  }
  return ok();
}

/// Name of method `index` of a verified program.
[[nodiscard]] inline std::string_view method_name_of(const schema::Program& program,
                                                     std::uint32_t index) noexcept {
  return program.execution_plan()->Get(index)->name()->string_view();
}

/// Key of named data `index` of a verified program.
[[nodiscard]] inline std::string_view named_data_key_of(const schema::Program& program,
                                                        std::uint32_t index) noexcept {
  return program.named_data()->Get(index)->key()->string_view();
}

/// Checks offsets into a segment (constant_segment and mutable_data_segments).
[[nodiscard]] inline Status verify_subsegments(const ProgramView& view,
                                               const schema::SubsegmentOffsets& where,
                                               WorkLimit& limit) {
  const auto* offsets = where.offsets();
  if (offsets == nullptr) return error(Error::InvalidProgram, "offsets is missing");
  if (!aligned(*offsets)) {
    return error(Error::InvalidProgram, "offsets is not aligned to 8 bytes");
  }
  if (!limit.take(offsets->size() * sizeof(std::uint64_t))) {
    return shared_too_often(Error::InvalidProgram);
  }
  TENON_RETURN_IF_ERROR(
      verify_index(where.segment_index(), view.num_segments(), "segments", "segment_index"));
  const auto size = view.segment(where.segment_index()).size();
  for (flatbuffers::uoffset_t i = 0; i < offsets->size(); ++i) {
    if (offsets->Get(i) <= size) continue;
    return error(Error::InvalidProgram, "offsets[", i, "] is ", offsets->Get(i), ", but segment ",
                 where.segment_index(), " has ", size, " bytes");
  }
  return ok();
}

[[nodiscard]] inline Status verify_constants(const ProgramView& view, WorkLimit& limit) {
  const auto& program = view.flatbuffer();
  if (view.uses_constant_segment()) {
    if (program.constant_buffer() != nullptr && program.constant_buffer()->size() != 0) {
      return error(Error::InvalidProgram, "constant_buffer has ", program.constant_buffer()->size(),
                   " entries and constant_segment has ",
                   program.constant_segment()->offsets()->size(), ", expected only one of them");
    }
    TENON_RETURN_IF_ERROR(with_location(
        verify_subsegments(view, *program.constant_segment(), limit), "constant_segment"));
  }
  const auto* mutable_data = program.mutable_data_segments();
  for (flatbuffers::uoffset_t i = 0; mutable_data != nullptr && i < mutable_data->size(); ++i) {
    TENON_RETURN_IF_ERROR(with_location(verify_subsegments(view, *mutable_data->Get(i), limit),
                                        "mutable_data_segments[", i, "]"));
  }
  return ok();
}

/// Checks all that a host reads of a program, once, so that later code may follow any index in it.
///
/// Afterwards the following holds. Lists called "present" may be empty.
///
/// - Segments are inside `segment_size` bytes. Constant and mutable data lists name existing
///   segments, and their offsets are inside them. Constants are not both in a segment and in the
///   flatbuffer.
/// - Named data has distinct keys and existing segments. Method names are present and distinct.
/// - Of each plan `values`, `inputs`, `outputs`, `delegates` and `non_const_buffer_sizes` are
///   present, there is a chain, and each chain has `instructions`. `operators` may be absent when
///   no instruction needs it. Names of methods and operators, ids of backends and keys of compile
///   specs contain no NUL.
/// - Each index (inputs, outputs, arguments, operators, delegates, moves, conditions, freed values,
///   list items) is in range. The target of a jump is an instruction of its chain or its end.
/// - Each value has a known kind and its table. Lists have items of the right kind; a boolean is 0
///   or 1. Tensors have what `verify_layout` checks, a storage offset of 0, a bounded shape, known
///   enumerators, and a source of data that holds all their bytes, aligned to the element size. (An
///   initial state is copied and need not be aligned.)
/// - Planned buffers have sizes of 0 or more (entry 0 is reserved) and at most one device each.
/// - Each delegate has an id, a blob that exists, and compile specs with keys and values.
/// - Names, values and named data are within `limits`.
///
/// Not checked, because nothing of the host relies on it: `stacktrace`, `container_meta_type`,
/// `requires_grad`, `layout`, the overload of an operator but for its length, and whether
/// instructions ever end.
///
/// errors: InvalidProgram for anything that a correct writer cannot have written. NotSupported for
///         a storage offset and for unbounded shapes, InvalidExternalData for an external tensor
///         without a name (tensor_parser_portable.cpp, tensor_parser_exec_aten.cpp),
///         OutOfResources for what is above a limit. The text names the plan, the value or
///         instruction, the field, what was expected and what was found.
[[nodiscard]] inline Result<ProgramNames> verify_program(const ProgramView& view,
                                                         std::uint64_t flatbuffer_size,
                                                         std::uint64_t segment_size,
                                                         const HostLimits& limits) {
  constexpr auto code = Error::InvalidProgram;
  const auto& program = view.flatbuffer();
  WorkLimit limit(flatbuffer_size, limits);
  if (program.version() > 0) {
    return error(code, "version is ", program.version(), ", this host reads version 0");
  }
  const std::size_t num_segments = view.num_segments();
  for (std::uint32_t i = 0; i < num_segments; ++i) {
    TENON_RETURN_IF_ERROR(with_location(
        verify_segment(*program.segments()->Get(i), segment_size, code), "segments[", i, "]"));
  }
  TENON_RETURN_IF_ERROR(verify_constants(view, limit));

  const auto* named_data = program.named_data();
  const std::uint32_t num_keys = named_data == nullptr ? 0 : named_data->size();
  NamedDataSize named_size(num_keys, limits);
  for (std::uint32_t i = 0; i < num_keys; ++i) {
    const auto& entry = *named_data->Get(i);
    TENON_RETURN_IF_ERROR(
        with_location(verify_text(entry.key(), "key", limit, code), "named_data[", i, "]"));
    TENON_RETURN_IF_ERROR(verify_index(entry.segment_index(), view.num_segments(), "segments",
                                       "named_data[", i, "]: segment_index"));
    named_size.add(view.segment(entry.segment_index()).size());
  }
  TENON_RETURN_IF_ERROR(named_size.check());
  const auto* plans = program.execution_plan();
  if (plans == nullptr) return error(code, "execution_plan is missing");
  for (std::uint32_t i = 0; i < plans->size(); ++i) {
    TENON_RETURN_IF_ERROR(
        with_location(verify_c_string(plans->Get(i)->name(), "name", limit, code), "plan ", i));
  }
  const auto method_name = [&](std::uint32_t i) { return method_name_of(program, i); };
  const auto key = [&](std::uint32_t i) { return named_data_key_of(program, i); };
  TENON_TRY(auto methods, KeyIndex::build(plans->size(), method_name, code, "execution_plan"));
  TENON_TRY(auto keys, KeyIndex::build(num_keys, key, code, "named_data"));
  bool has_devices = false;
  for (std::uint32_t i = 0; i < plans->size(); ++i) {
    if (Status plan = verify_plan(view, *plans->Get(i), limit, has_devices); !plan.ok()) {
      return with_location(std::move(plan), "plan ", i, " ", quoted(method_name(i)));
    }
  }
  return ProgramNames{std::move(methods), std::move(keys), has_devices};
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
