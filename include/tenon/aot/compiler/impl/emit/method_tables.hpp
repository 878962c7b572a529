// SPDX-License-Identifier: MIT
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/aot/program_data.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// At least the bytes that a method takes in the flatbuffer.
[[nodiscard]] inline std::uint64_t size_of_method(const MethodData& method) {
  constexpr std::uint64_t table = 128;
  std::uint64_t nbytes = 2 * table + method.name.size() + method.encoded_inputs.size() +
                         method.encoded_outputs.size() +
                         8 * (method.inputs.size() + method.outputs.size()) +
                         table * method.planned_memory.size();
  for (const auto& op : method.operators) nbytes += table + op.name.size() + op.overload.size();
  for (const auto& value : method.values) {
    nbytes += 2 * table;
    if (const auto* text = std::get_if<std::string>(&value)) nbytes += text->size();
    if (const auto* list = std::get_if<IntList>(&value)) nbytes += 8 * list->items.size();
    if (const auto* list = std::get_if<std::vector<double>>(&value)) nbytes += 8 * list->size();
    if (const auto* list = std::get_if<std::vector<bool>>(&value)) nbytes += list->size();
    if (const auto* list = std::get_if<TensorList>(&value)) nbytes += 4 * list->items.size();
    if (const auto* list = std::get_if<OptionalTensorList>(&value)) {
      nbytes += 4 * list->items.size();
    }
    if (const auto* tensor = std::get_if<TensorValue>(&value)) {
      nbytes += 2 * table + tensor->fully_qualified_name.size();
    }
  }
  for (const auto& delegate : method.delegates) {
    nbytes += table + delegate.id.size();
    for (const auto& spec : delegate.compile_specs) {
      nbytes += table + spec.key.size() + spec.value.size();
    }
  }
  for (const auto& instruction : method.instructions) {
    nbytes += table;
    if (const auto* call = std::get_if<KernelCall>(&instruction)) nbytes += 4 * call->args.size();
    if (const auto* call = std::get_if<DelegateCall>(&instruction)) {
      nbytes += 4 * call->args.size();
    }
  }
  return nbytes;
}

/// Builds the flatbuffer of one method.
class MethodTables {
 public:
  /// Numbers that Tensor.data_buffer_idx gets, by index in ProgramData. 0 is reserved.
  struct BufferNumbers {
    std::vector<std::uint32_t> constants;
    std::vector<std::uint32_t> initial_states;
  };
  /// The place of a delegate's blob.
  struct Blob {
    schema::DataLocation location = schema::DataLocation::INLINE;
    std::uint32_t index = 0;
  };

  MethodTables(flatbuffers::FlatBufferBuilder& builder, const MethodData& method,
               const BufferNumbers& numbers, std::span<const Blob> blobs) noexcept
      : builder_(&builder), method_(&method), numbers_(&numbers), blobs_(blobs) {}

  [[nodiscard]] flatbuffers::Offset<schema::ExecutionPlan> build() {
    const auto name = builder_->CreateString(method_->name);
    const auto encoded_inputs = builder_->CreateString(method_->encoded_inputs);
    const auto encoded_outputs = builder_->CreateString(method_->encoded_outputs);
    const auto container =
        schema::CreateContainerMetadata(*builder_, encoded_inputs, encoded_outputs);
    const auto values =
        tables(method_->values, [&](const Value& value, std::size_t) { return table(value); });
    const auto inputs = builder_->CreateVector(method_->inputs);
    const auto outputs = builder_->CreateVector(method_->outputs);
    const auto chain = chain_table();
    const auto chains = builder_->CreateVector(&chain, 1);
    const auto operators = tables(method_->operators, [&](const Operator& op, std::size_t) {
      const auto op_name = builder_->CreateString(op.name);
      return schema::CreateOperator(*builder_, op_name, builder_->CreateString(op.overload));
    });
    const auto delegates = tables(
        method_->delegates,
        [&](const DelegateData& delegate, std::size_t i) { return table(delegate, blobs_[i]); });
    std::vector<std::int64_t> sizes;
    for (const auto& memory : method_->planned_memory) {
      sizes.push_back(static_cast<std::int64_t>(memory.nbytes));
    }
    const auto size_list = builder_->CreateVector(sizes);
    const auto devices = device_tables();
    return schema::CreateExecutionPlan(*builder_, name, container, values, inputs, outputs, chains,
                                       operators, delegates, size_list, devices);
  }

 private:
  template <class Table>
  using Offset = flatbuffers::Offset<Table>;

  /// The vector of the tables that `make(item, index)` gives for each item.
  template <class Item, class Make>
  [[nodiscard]] Offset<flatbuffers::Vector<std::invoke_result_t<Make&, const Item&, std::size_t>>>
  tables(const std::vector<Item>& items, Make&& make) {
    std::vector<std::invoke_result_t<Make&, const Item&, std::size_t>> out;
    for (std::size_t i = 0; i < items.size(); ++i) out.push_back(make(items[i], i));
    return builder_->CreateVector(out);
  }

  template <class Table>
  [[nodiscard]] Offset<schema::EValue> value(Offset<Table> payload) {
    return schema::CreateEValue(*builder_, schema::KernelTypesTraits<Table>::enum_value,
                                payload.Union());
  }

  [[nodiscard]] Offset<schema::EValue> table(const Value& item) {
    return std::visit([this](const auto& one) { return this->value(this->payload(one)); }, item);
  }

  [[nodiscard]] Offset<schema::Null> payload(std::monostate) {
    return schema::CreateNull(*builder_);
  }
  [[nodiscard]] Offset<schema::Int> payload(std::int64_t number) {
    return schema::CreateInt(*builder_, number);
  }
  [[nodiscard]] Offset<schema::Double> payload(double number) {
    return schema::CreateDouble(*builder_, number);
  }
  [[nodiscard]] Offset<schema::Bool> payload(bool truth) {
    return schema::CreateBool(*builder_, truth);
  }
  [[nodiscard]] Offset<schema::String> payload(const std::string& text) {
    return schema::CreateString(*builder_, builder_->CreateString(text));
  }
  [[nodiscard]] Offset<schema::IntList> payload(const IntList& list) {
    const std::vector<std::int64_t> items(list.items.begin(), list.items.end());
    return schema::CreateIntList(*builder_, builder_->CreateVector(items));
  }
  [[nodiscard]] Offset<schema::DoubleList> payload(const std::vector<double>& list) {
    return schema::CreateDoubleList(*builder_, builder_->CreateVector(list));
  }
  [[nodiscard]] Offset<schema::BoolList> payload(const std::vector<bool>& list) {
    const std::vector<std::uint8_t> items(list.begin(), list.end());
    return schema::CreateBoolList(*builder_, builder_->CreateVector(items));
  }
  [[nodiscard]] Offset<schema::TensorList> payload(const TensorList& list) {
    return schema::CreateTensorList(*builder_, builder_->CreateVector(list.items));
  }
  [[nodiscard]] Offset<schema::OptionalTensorList> payload(const OptionalTensorList& list) {
    return schema::CreateOptionalTensorList(*builder_, builder_->CreateVector(list.items));
  }
  [[nodiscard]] Offset<schema::Tensor> payload(const TensorValue& tensor) {
    using schema::TensorShapeDynamism;
    const auto sizes = builder_->CreateVector(tensor.layout.sizes);
    const auto dim_order = builder_->CreateVector(tensor.layout.full_dim_order());
    Offset<schema::AllocationDetails> allocation;
    if (const Place* place = tensor.place()) {
      allocation = schema::CreateAllocationDetails(*builder_, place->memory_id,
                                                   static_cast<std::uint32_t>(place->offset),
                                                   static_cast<std::uint32_t>(place->offset >> 32));
    }
    const auto dynamism =
        tensor.is_dynamic ? TensorShapeDynamism::DYNAMIC_BOUND : TensorShapeDynamism::STATIC;
    return schema::CreateTensor(
        *builder_, static_cast<schema::ScalarType>(tensor.layout.scalar_type), 0, sizes, dim_order,
        tensor.requires_grad, buffer_number(tensor), allocation, 0, dynamism, extra_info(tensor));
  }

  [[nodiscard]] std::uint32_t buffer_number(const TensorValue& tensor) const noexcept {
    if (const auto* constant = std::get_if<storage::Constant>(&tensor.data)) {
      return numbers_->constants[constant->index];
    }
    const auto* state = std::get_if<storage::InitialState>(&tensor.data);
    return state == nullptr ? 0 : numbers_->initial_states[state->index];
  }

  /// Nothing when all of it has its default, as for most tensors.
  [[nodiscard]] Offset<schema::ExtraTensorInfo> extra_info(const TensorValue& tensor) {
    using schema::TensorDataLocation;
    const bool is_external = std::holds_alternative<storage::External>(tensor.data);
    if (tensor.fully_qualified_name.empty() && tensor.device == ProgramDevice()) return {};
    return schema::CreateExtraTensorInfo(
        *builder_, 0, builder_->CreateString(tensor.fully_qualified_name),
        is_external ? TensorDataLocation::EXTERNAL : TensorDataLocation::SEGMENT,
        static_cast<schema::DeviceType>(tensor.device.type), tensor.device.index);
  }

  template <class Table>
  [[nodiscard]] Offset<schema::Instruction> instruction(Offset<Table> arguments) {
    return schema::CreateInstruction(
        *builder_, schema::InstructionArgumentsTraits<Table>::enum_value, arguments.Union());
  }

  [[nodiscard]] Offset<schema::KernelCall> arguments(const KernelCall& call) {
    return schema::CreateKernelCall(*builder_, static_cast<std::int32_t>(call.op_index),
                                    builder_->CreateVector(call.args));
  }
  [[nodiscard]] Offset<schema::DelegateCall> arguments(const DelegateCall& call) {
    return schema::CreateDelegateCall(*builder_, static_cast<std::int32_t>(call.delegate_index),
                                      builder_->CreateVector(call.args));
  }
  [[nodiscard]] Offset<schema::MoveCall> arguments(const MoveCall& move) {
    return schema::CreateMoveCall(*builder_, move.from, move.to);
  }
  [[nodiscard]] Offset<schema::JumpFalseCall> arguments(const JumpFalseCall& jump) {
    return schema::CreateJumpFalseCall(*builder_, jump.condition,
                                       static_cast<std::int32_t>(jump.destination));
  }
  [[nodiscard]] Offset<schema::FreeCall> arguments(const FreeCall& call) {
    return schema::CreateFreeCall(*builder_, call.value);
  }

  /// ExecuTorch writes a chain's own inputs and outputs as empty lists, and no runtime reads them.
  [[nodiscard]] Offset<schema::Chain> chain_table() {
    const auto instructions =
        tables(method_->instructions, [&](const Instruction& item, std::size_t) {
          return std::visit(
              [this](const auto& one) { return this->instruction(this->arguments(one)); }, item);
        });
    const auto inputs = builder_->CreateVector(std::vector<std::int32_t>());
    const auto outputs = builder_->CreateVector(std::vector<std::int32_t>());
    return schema::CreateChain(*builder_, inputs, outputs, instructions);
  }

  [[nodiscard]] Offset<schema::BackendDelegate> table(const DelegateData& delegate,
                                                      const Blob& blob) {
    const auto id = builder_->CreateString(delegate.id);
    const auto processed =
        schema::CreateBackendDelegateDataReference(*builder_, blob.location, blob.index);
    const auto specs =
        tables(delegate.compile_specs, [&](const CompileSpecData& spec, std::size_t) {
          const auto key = builder_->CreateString(spec.key);
          return schema::CreateCompileSpec(*builder_, key, byte_vector(spec.value.bytes()));
        });
    return schema::CreateBackendDelegate(*builder_, id, processed, specs);
  }

  [[nodiscard]] Offset<flatbuffers::Vector<std::uint8_t>> byte_vector(Bytes bytes) {
    return builder_->CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                  bytes.size());
  }

  /// Only of memories that are not on the CPU; nothing when all are, so that a program for the CPU
  /// is what it was before there were devices.
  [[nodiscard]] Offset<flatbuffers::Vector<Offset<schema::NonConstBufferDevice>>> device_tables() {
    std::vector<Offset<schema::NonConstBufferDevice>> out;
    for (std::size_t i = 0; i < method_->planned_memory.size(); ++i) {
      const ProgramDevice& device = method_->planned_memory[i].device;
      if (device == ProgramDevice()) continue;
      out.push_back(schema::CreateNonConstBufferDevice(*builder_, static_cast<std::int32_t>(i),
                                                       static_cast<schema::DeviceType>(device.type),
                                                       device.index));
    }
    if (out.empty()) return {};
    return builder_->CreateVector(out);
  }

  flatbuffers::FlatBufferBuilder* builder_;
  const MethodData* method_;
  const BufferNumbers* numbers_;
  std::span<const Blob> blobs_;
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
