// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/named_data_store.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/host/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::test {

/// Describes a program that was read, so that it can be written again. What a description cannot
/// say is left out: stack traces, and more than one chain or segment of initial states. The bytes
/// stay in the program, which the description keeps alive.
class ProgramDescriber {
 public:
  explicit ProgramDescriber(std::shared_ptr<const host::Program> program)
      : program_(std::move(program)) {}

  [[nodiscard]] Result<aot::ProgramData> describe() {
    const auto& root = program_->flatbuffer();
    if (program_->view().uses_constant_segment()) {
      add_subsegments(*root.constant_segment(), out_.constants);
    }
    if (root.mutable_data_segments() != nullptr && root.mutable_data_segments()->size() != 0) {
      add_subsegments(*root.mutable_data_segments()->Get(0), out_.initial_states);
    }
    for (const auto* plan : *root.execution_plan()) {
      TENON_TRY(auto method, describe_method(*plan));
      out_.methods.push_back(std::move(method));
    }
    aot::NamedDataStore store;
    for (std::uint32_t i = 0; i < program_->num_keys(); ++i) {
      TENON_RETURN_IF_ERROR(store.add_named_data(program_->key(i), share(program_->key_data(i))));
    }
    out_.named_data = store.get_named_data_store_output();
    return std::move(out_);
  }

 private:
  [[nodiscard]] aot::SharedBytes share(Bytes bytes) const {
    return aot::SharedBytes::borrow(bytes, program_);
  }
  static std::string text(const flatbuffers::String* found) {
    return found == nullptr ? std::string() : found->str();
  }
  template <class Element>
  static auto vector(const flatbuffers::Vector<Element>* found) {
    return std::vector<Element>(found->begin(), found->end());
  }

  /// Each of them up to the next, so with the padding between.
  void add_subsegments(const schema::SubsegmentOffsets& where,
                       std::vector<aot::SharedBytes>& list) const {
    const auto all = program_->view().segment(where.segment_index());
    const auto& offsets = *where.offsets();
    for (unsigned i = 1; i < offsets.size(); ++i) {
      const auto begin = static_cast<std::size_t>(offsets.Get(i));
      const auto end =
          i + 1 < offsets.size() ? static_cast<std::size_t>(offsets.Get(i + 1)) : all.size();
      list.push_back(share(all.subspan(begin, end - begin)));
    }
  }

  [[nodiscard]] Result<aot::MethodData> describe_method(const schema::ExecutionPlan& plan) const {
    aot::MethodData out;
    out.name = text(plan.name());
    if (const auto* container = plan.container_meta_type()) {
      out.encoded_inputs = text(container->encoded_inp_str());
      out.encoded_outputs = text(container->encoded_out_str());
    }
    for (const auto* value : *plan.values()) {
      TENON_TRY(auto described, describe_value(*value));
      out.values.push_back(std::move(described));
    }
    out.inputs = vector(plan.inputs());
    out.outputs = vector(plan.outputs());
    for (const auto* op : *plan.operators()) {
      out.operators.push_back({text(op->name()), text(op->overload())});
    }
    for (const auto* delegate : *plan.delegates()) {
      out.delegates.push_back(describe_delegate(*delegate));
    }
    if (plan.chains()->size() != 1) return error(Error::NotSupported, "expected one chain");
    for (const auto* instruction : *plan.chains()->Get(0)->instructions()) {
      out.instructions.push_back(describe_instruction(*instruction));
    }
    out.planned_memory.clear();
    for (const auto size : *plan.non_const_buffer_sizes()) {
      out.planned_memory.push_back({static_cast<std::uint64_t>(size), {}});
    }
    if (plan.non_const_buffer_device() != nullptr) {
      for (const auto* one : *plan.non_const_buffer_device()) {
        out.planned_memory[static_cast<std::size_t>(one->buffer_idx())].device = {
            static_cast<aot::ProgramDeviceType>(one->device_type()), one->device_index()};
      }
    }
    return out;
  }

  [[nodiscard]] static Result<aot::Value> describe_value(const schema::EValue& value) {
    using schema::KernelTypes;
    switch (value.val_type()) {
      case KernelTypes::Null:
        return aot::Value();
      case KernelTypes::Int:
        return aot::Value(value.val_as_Int()->int_val());
      case KernelTypes::Bool:
        return aot::Value(value.val_as_Bool()->bool_val());
      case KernelTypes::Double:
        return aot::Value(value.val_as_Double()->double_val());
      case KernelTypes::Tensor:
        return aot::Value(describe_tensor(*value.val_as_Tensor()));
      case KernelTypes::String:
        return aot::Value(text(value.val_as_String()->string_val()));
      case KernelTypes::IntList: {
        const auto* items = value.val_as_IntList()->items();
        aot::IntList out;
        for (const auto item : *items) out.items.push_back(static_cast<aot::ValueIndex>(item));
        return aot::Value(std::move(out));
      }
      case KernelTypes::DoubleList:
        return aot::Value(vector(value.val_as_DoubleList()->items()));
      case KernelTypes::BoolList: {
        const auto* items = value.val_as_BoolList()->items();
        return aot::Value(std::vector<bool>(items->begin(), items->end()));
      }
      case KernelTypes::TensorList:
        return aot::Value(aot::TensorList{vector(value.val_as_TensorList()->items())});
      case KernelTypes::OptionalTensorList:
        return aot::Value(
            aot::OptionalTensorList{vector(value.val_as_OptionalTensorList()->items())});
      default:
        return error(Error::NotSupported, "unknown kind of value");
    }
  }

  [[nodiscard]] static aot::TensorValue describe_tensor(const schema::Tensor& tensor) {
    aot::TensorValue out;
    out.layout = {static_cast<ScalarType>(tensor.scalar_type()), vector(tensor.sizes()),
                  vector(tensor.dim_order())};
    out.is_dynamic = tensor.shape_dynamism() == schema::TensorShapeDynamism::DYNAMIC_BOUND;
    out.requires_grad = tensor.requires_grad();
    bool is_external = false;
    if (const auto* extra = tensor.extra_tensor_info()) {
      out.fully_qualified_name = text(extra->fully_qualified_name());
      out.device = {static_cast<aot::ProgramDeviceType>(extra->device_type()),
                    extra->device_index()};
      is_external = extra->location() == schema::TensorDataLocation::EXTERNAL;
    }
    std::optional<aot::Place> place;
    if (const auto* found = tensor.allocation_info()) {
      place = aot::Place{found->memory_id(), std::uint64_t{found->memory_offset_high()} << 32 |
                                                 found->memory_offset_low()};
    }
    const auto index = tensor.data_buffer_idx();
    if (is_external) {
      out.data = aot::storage::External{place};
    } else if (index != 0 && place) {
      out.data = aot::storage::InitialState{index - 1, *place};
    } else if (index != 0) {
      out.data = aot::storage::Constant{index - 1};
    } else if (place) {
      out.data = aot::storage::Planned{*place};
    }
    return out;
  }

  [[nodiscard]] aot::DelegateData describe_delegate(const schema::BackendDelegate& found) const {
    aot::DelegateData out;
    out.id = text(found.id());
    out.processed = share(program_->view().delegate_data(found));
    for (const auto* spec : *found.compile_specs()) {
      const Bytes value = std::as_bytes(std::span(spec->value()->data(), spec->value()->size()));
      out.compile_specs.push_back({text(spec->key()), share(value)});
    }
    const bool is_inside = found.processed()->location() == schema::DataLocation::INLINE;
    out.placement = is_inside ? aot::BlobPlacement::Inline : aot::BlobPlacement::Segment;
    return out;
  }

  [[nodiscard]] static aot::Instruction describe_instruction(const schema::Instruction& found) {
    using schema::InstructionArguments;
    switch (found.instr_args_type()) {
      case InstructionArguments::KernelCall: {
        const auto& call = *found.instr_args_as_KernelCall();
        return aot::KernelCall{static_cast<std::uint32_t>(call.op_index()), vector(call.args())};
      }
      case InstructionArguments::DelegateCall: {
        const auto& call = *found.instr_args_as_DelegateCall();
        return aot::DelegateCall{static_cast<std::uint32_t>(call.delegate_index()),
                                 vector(call.args())};
      }
      case InstructionArguments::MoveCall: {
        const auto& move = *found.instr_args_as_MoveCall();
        return aot::MoveCall{move.move_from(), move.move_to()};
      }
      case InstructionArguments::JumpFalseCall: {
        const auto& jump = *found.instr_args_as_JumpFalseCall();
        return aot::JumpFalseCall{jump.cond_value_index(),
                                  static_cast<std::uint32_t>(jump.destination_instruction())};
      }
      default:
        return aot::FreeCall{found.instr_args_as_FreeCall()->value_index()};
    }
  }

  std::shared_ptr<const host::Program> program_;
  aot::ProgramData out_;
};

}  // namespace tenon::test
