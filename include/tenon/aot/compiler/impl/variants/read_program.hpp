// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/variants/read_program.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "tenon/aot/named_data_store.hpp"
#include "tenon/aot/shared_bytes.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// Reads a program that was verified.
class ProgramReader {
 public:
  explicit ProgramReader(std::shared_ptr<const host::Program> program)
      : file_(std::move(program)) {}

  [[nodiscard]] Result<ProgramData> read() && {
    for (std::size_t i = 0; i < file_->num_methods(); ++i) {
      const auto index = static_cast<flatbuffers::uoffset_t>(i);
      const auto& plan = *file_->flatbuffer().execution_plan()->Get(index);
      auto method = read_method(plan);
      if (!method.ok()) {
        return std::move(method).status().with_context(
            concat("method '", plan.name()->string_view(), "'"));
      }
      out_.methods.push_back(*std::move(method));
    }
    NamedDataStore named;
    for (std::uint32_t i = 0; i < file_->num_keys(); ++i) {
      TENON_RETURN_IF_ERROR(named.add_named_data(file_->key(i), lend(file_->key_data(i))));
    }
    out_.named_data = named.get_named_data_store_output();
    return std::move(out_);
  }

 private:
  [[nodiscard]] SharedBytes lend(Bytes bytes) const { return SharedBytes::borrow(bytes, file_); }

  Result<MethodData> read_method(const schema::ExecutionPlan& plan) {
    MethodData out;
    out.name = plan.name()->str();
    if (const auto* containers = plan.container_meta_type()) {
      if (containers->encoded_inp_str()) out.encoded_inputs = containers->encoded_inp_str()->str();
      if (containers->encoded_out_str()) {
        out.encoded_outputs = containers->encoded_out_str()->str();
      }
    }
    for (const auto* value : *plan.values()) {
      TENON_TRY(Value read, read_value(*value));
      out.values.push_back(std::move(read));
    }
    out.inputs.assign(plan.inputs()->begin(), plan.inputs()->end());
    out.outputs.assign(plan.outputs()->begin(), plan.outputs()->end());
    if (plan.operators()) {
      for (const auto* op : *plan.operators()) {
        out.operators.push_back({op->name()->str(), op->overload() ? op->overload()->str() : ""});
      }
    }
    for (const auto* delegate : *plan.delegates()) out.delegates.push_back(read(*delegate));
    if (plan.chains()->size() != 1) {
      return error(Error::NotSupported, "has ", plan.chains()->size(), " chains, expected 1");
    }
    for (const auto* instruction : *plan.chains()->Get(0)->instructions()) {
      out.instructions.push_back(read(*instruction));
    }
    read_memory(plan, out);
    return out;
  }

  static void read_memory(const schema::ExecutionPlan& plan, MethodData& out) {
    const auto& sizes = *plan.non_const_buffer_sizes();
    for (flatbuffers::uoffset_t i = 1; i < sizes.size(); ++i) {
      out.planned_memory.push_back({static_cast<std::uint64_t>(sizes.Get(i)), {}});
    }
    if (!plan.non_const_buffer_device()) return;
    for (const auto* entry : *plan.non_const_buffer_device()) {
      out.planned_memory[static_cast<std::size_t>(entry->buffer_idx())].device = {
          static_cast<ProgramDeviceType>(entry->device_type()), entry->device_index()};
    }
  }

  DelegateData read(const schema::BackendDelegate& delegate) const {
    DelegateData out;
    out.id = delegate.id()->str();
    out.processed = lend(file_->view().delegate_data(delegate));
    for (const auto* spec : *delegate.compile_specs()) {
      const auto value = std::as_bytes(std::span(spec->value()->data(), spec->value()->size()));
      out.compile_specs.push_back({spec->key()->str(), lend(value)});
    }
    const bool is_inside = delegate.processed()->location() == schema::DataLocation::INLINE;
    out.placement = is_inside ? BlobPlacement::Inline : BlobPlacement::Segment;
    return out;
  }

  static std::vector<ValueIndex> indices(const flatbuffers::Vector<std::int32_t>& list) {
    return {list.begin(), list.end()};
  }

  static Instruction read(const schema::Instruction& instruction) {
    if (const auto* kernel = instruction.instr_args_as_KernelCall()) {
      return KernelCall{static_cast<std::uint32_t>(kernel->op_index()), indices(*kernel->args())};
    }
    if (const auto* call = instruction.instr_args_as_DelegateCall()) {
      return DelegateCall{static_cast<std::uint32_t>(call->delegate_index()),
                          indices(*call->args())};
    }
    if (const auto* move = instruction.instr_args_as_MoveCall()) {
      return MoveCall{move->move_from(), move->move_to()};
    }
    if (const auto* jump = instruction.instr_args_as_JumpFalseCall()) {
      return JumpFalseCall{jump->cond_value_index(),
                           static_cast<std::uint32_t>(jump->destination_instruction())};
    }
    return FreeCall{instruction.instr_args_as_FreeCall()->value_index()};
  }

  Result<Value> read_value(const schema::EValue& value) {
    using schema::KernelTypes;
    switch (value.val_type()) {
      case KernelTypes::Int:
        return Value(value.val_as_Int()->int_val());
      case KernelTypes::Bool:
        return Value(value.val_as_Bool()->bool_val());
      case KernelTypes::Double:
        return Value(value.val_as_Double()->double_val());
      case KernelTypes::String:
        return Value(value.val_as_String()->string_val()->str());
      case KernelTypes::IntList: {
        IntList list;
        for (const std::int64_t item : *value.val_as_IntList()->items()) {
          list.items.push_back(static_cast<ValueIndex>(item));
        }
        return Value(std::move(list));
      }
      case KernelTypes::DoubleList: {
        const auto& items = *value.val_as_DoubleList()->items();
        return Value(std::vector<double>(items.begin(), items.end()));
      }
      case KernelTypes::BoolList: {
        const auto& items = *value.val_as_BoolList()->items();
        return Value(std::vector<bool>(items.begin(), items.end()));
      }
      case KernelTypes::TensorList:
        return Value(TensorList{indices(*value.val_as_TensorList()->items())});
      case KernelTypes::OptionalTensorList:
        return Value(OptionalTensorList{indices(*value.val_as_OptionalTensorList()->items())});
      case KernelTypes::Tensor: {
        TENON_TRY(TensorValue tensor, read_tensor(*value.val_as_Tensor()));
        return Value(std::move(tensor));
      }
      default:
        return Value(std::monostate{});
    }
  }

  Result<TensorValue> read_tensor(const schema::Tensor& tensor) {
    TensorValue out;
    out.layout.scalar_type = static_cast<ScalarType>(tensor.scalar_type());
    out.layout.sizes.assign(tensor.sizes()->begin(), tensor.sizes()->end());
    out.layout.dim_order.assign(tensor.dim_order()->begin(), tensor.dim_order()->end());
    out.is_dynamic = tensor.shape_dynamism() == schema::TensorShapeDynamism::DYNAMIC_BOUND;
    out.requires_grad = tensor.requires_grad();
    const auto* extra = tensor.extra_tensor_info();
    if (extra) {
      if (extra->fully_qualified_name()) {
        out.fully_qualified_name = extra->fully_qualified_name()->str();
      }
      out.device = {static_cast<ProgramDeviceType>(extra->device_type()), extra->device_index()};
    }
    std::optional<Place> place;
    if (const auto* allocation = tensor.allocation_info()) {
      place = Place{allocation->memory_id(), std::uint64_t{allocation->memory_offset_high()} << 32 |
                                                 allocation->memory_offset_low()};
    }
    const std::uint32_t number = tensor.data_buffer_idx();
    if (extra && extra->location() == schema::TensorDataLocation::EXTERNAL) {
      out.data = storage::External{place};
    } else if (number == 0) {
      if (place) out.data = storage::Planned{*place};
    } else if (place) {
      const auto segment = extra ? extra->mutable_data_segments_idx() : 0;
      TENON_TRY(const auto bytes, file_->view().mutable_data(segment, number, out.layout.nbytes()));
      out.data = storage::InitialState{add(out_.initial_states, states_, bytes), *place};
    } else {
      TENON_TRY(const auto bytes, file_->view().constant_data(number, out.layout.nbytes()));
      out.data = storage::Constant{add(out_.constants, constants_, bytes)};
    }
    return out;
  }

  using Known = std::map<std::pair<const std::byte*, std::size_t>, std::uint32_t>;

  /// The number of `bytes` in `all`. Each part of the file is there once.
  std::uint32_t add(std::vector<SharedBytes>& all, Known& known, Bytes bytes) const {
    const auto [found, is_new] =
        known.try_emplace({bytes.data(), bytes.size()}, static_cast<std::uint32_t>(all.size()));
    if (is_new) all.push_back(lend(bytes));
    return found->second;
  }

  std::shared_ptr<const host::Program> file_;
  ProgramData out_;
  Known constants_;
  Known states_;
};

}  // namespace detail

Result<ProgramData> read_program(std::shared_ptr<const host::Program> program) {
  return detail::ProgramReader(std::move(program)).read();
}

}}}  // namespace tenon::TENON_RELEASE::aot
