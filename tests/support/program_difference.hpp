// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/aot/program_data.hpp"
#include "tenon/aot/unique_bytes.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::test {

/// Compares a program that was read with the description that it was written from, field by field.
class ProgramDifference {
 public:
  ProgramDifference(const aot::ProgramData& expected, const host::Program& found)
      : expected_(&expected), found_(&found) {}

  /// The first difference, or "".
  [[nodiscard]] std::string find() {
    same(found_->num_methods(), expected_->methods.size(), "number of methods");
    for (std::size_t i = 0; text_.empty() && i < expected_->methods.size(); ++i) {
      method_ = &expected_->methods[i];
      plan_ = found_->flatbuffer().execution_plan()->Get(static_cast<unsigned>(i));
      compare_method();
      if (!text_.empty()) text_ = concat("method ", i, ": ", text_);
    }
    compare_named_data();
    return text_;
  }

 private:
  template <class A, class B>
  void same(const A& found, const B& expected, std::string_view what) {
    if (text_.empty() && !(found == expected)) text_ = concat(what, " differs");
  }
  void same_bytes(Bytes found, Bytes expected, std::string_view what) {
    if (text_.empty() && !aot::UniqueBytes::equal(found, expected))
      text_ = concat(what, " differs");
  }
  void fail(std::string text) {
    if (text_.empty()) text_ = std::move(text);
  }
  static std::string_view view(const flatbuffers::String* text) {
    return text == nullptr ? std::string_view() : text->string_view();
  }

  template <class Found, class Expected>
  void same_list(const flatbuffers::Vector<Found>* found, const std::vector<Expected>& expected,
                 std::string_view what) {
    if (!text_.empty()) return;
    bool is_same = found != nullptr && found->size() == expected.size();
    for (unsigned i = 0; is_same && i < expected.size(); ++i) {
      is_same = static_cast<std::int64_t>(found->Get(i)) == static_cast<std::int64_t>(expected[i]);
    }
    if (!is_same) text_ = concat(what, " differ");
  }

  void compare_method() {
    same(view(plan_->name()), method_->name, "name");
    same(view(plan_->container_meta_type()->encoded_inp_str()), method_->encoded_inputs, "inputs");
    same(view(plan_->container_meta_type()->encoded_out_str()), method_->encoded_outputs,
         "outputs");
    same_list(plan_->inputs(), method_->inputs, "inputs");
    same_list(plan_->outputs(), method_->outputs, "outputs");
    compare_memory();
    same(plan_->values()->size(), method_->values.size(), "number of values");
    for (std::size_t i = 0; text_.empty() && i < method_->values.size(); ++i) {
      const auto& found = *plan_->values()->Get(static_cast<unsigned>(i));
      std::visit([&](const auto& one) { compare(found, one); }, method_->values[i]);
      if (!text_.empty()) text_ = concat("value ", i, ": ", text_);
    }
    same(plan_->operators()->size(), method_->operators.size(), "number of operators");
    for (std::size_t i = 0; text_.empty() && i < method_->operators.size(); ++i) {
      const auto& found = *plan_->operators()->Get(static_cast<unsigned>(i));
      same(view(found.name()), method_->operators[i].name, "name of an operator");
      same(view(found.overload()), method_->operators[i].overload, "overload of an operator");
    }
    same(plan_->delegates()->size(), method_->delegates.size(), "number of delegates");
    for (std::size_t i = 0; text_.empty() && i < method_->delegates.size(); ++i) {
      compare(*plan_->delegates()->Get(static_cast<unsigned>(i)), method_->delegates[i]);
    }
    same(plan_->chains()->size(), 1u, "number of chains");
    const auto* instructions = plan_->chains()->Get(0)->instructions();
    same(instructions->size(), method_->instructions.size(), "number of instructions");
    for (std::size_t i = 0; text_.empty() && i < method_->instructions.size(); ++i) {
      const auto& found = *instructions->Get(static_cast<unsigned>(i));
      std::visit([&](const auto& one) { compare(found, one); }, method_->instructions[i]);
      if (!text_.empty()) text_ = concat("instruction ", i, ": ", text_);
    }
  }

  void compare_memory() {
    std::vector<std::int64_t> sizes;
    std::vector<aot::ProgramDevice> devices;
    for (const auto& memory : method_->planned_memory) {
      sizes.push_back(static_cast<std::int64_t>(memory.nbytes));
      devices.push_back(memory.device);
    }
    same_list(plan_->non_const_buffer_sizes(), sizes, "sizes of planned memory");
    if (const auto* found = plan_->non_const_buffer_device()) {
      for (const auto* one : *found) {
        auto& expected = devices[static_cast<std::size_t>(one->buffer_idx())];
        same(static_cast<int>(one->device_type()), static_cast<int>(expected.type), "device");
        same(one->device_index(), expected.index, "device index");
        expected = {};
      }
    }
    for (const auto& device : devices)
      same(device, aot::ProgramDevice(), "a memory's missing device");
  }

  void compare(const schema::EValue& found, std::monostate) {
    same(found.val_type(), schema::KernelTypes::Null, "kind");
  }
  void compare(const schema::EValue& found, std::int64_t expected) {
    if (found.val_as_Int() == nullptr) return fail("kind is not Int");
    same(found.val_as_Int()->int_val(), expected, "integer");
  }
  void compare(const schema::EValue& found, double expected) {
    if (found.val_as_Double() == nullptr) return fail("kind is not Double");
    same(std::bit_cast<std::uint64_t>(found.val_as_Double()->double_val()),
         std::bit_cast<std::uint64_t>(expected), "number");
  }
  void compare(const schema::EValue& found, bool expected) {
    if (found.val_as_Bool() == nullptr) return fail("kind is not Bool");
    same(found.val_as_Bool()->bool_val(), expected, "boolean");
  }
  void compare(const schema::EValue& found, const std::string& expected) {
    if (found.val_as_String() == nullptr) return fail("kind is not String");
    same(view(found.val_as_String()->string_val()), expected, "text");
  }
  void compare(const schema::EValue& found, const aot::IntList& expected) {
    if (found.val_as_IntList() == nullptr) return fail("kind is not IntList");
    same_list(found.val_as_IntList()->items(), expected.items, "items");
  }
  void compare(const schema::EValue& found, const std::vector<double>& expected) {
    if (found.val_as_DoubleList() == nullptr) return fail("kind is not DoubleList");
    const auto* items = found.val_as_DoubleList()->items();
    same(std::vector<double>(items->begin(), items->end()), expected, "items");
  }
  void compare(const schema::EValue& found, const std::vector<bool>& expected) {
    if (found.val_as_BoolList() == nullptr) return fail("kind is not BoolList");
    same_list(found.val_as_BoolList()->items(), expected, "items");
  }
  void compare(const schema::EValue& found, const aot::TensorList& expected) {
    if (found.val_as_TensorList() == nullptr) return fail("kind is not TensorList");
    same_list(found.val_as_TensorList()->items(), expected.items, "items");
  }
  void compare(const schema::EValue& found, const aot::OptionalTensorList& expected) {
    if (found.val_as_OptionalTensorList() == nullptr) return fail("kind is not OptionalTensorList");
    same_list(found.val_as_OptionalTensorList()->items(), expected.items, "items");
  }

  void compare(const schema::EValue& value, const aot::TensorValue& expected) {
    const auto* found = value.val_as_Tensor();
    if (found == nullptr) return fail("kind is not Tensor");
    same(static_cast<int>(found->scalar_type()), static_cast<int>(expected.layout.scalar_type),
         "scalar type");
    same_list(found->sizes(), expected.layout.sizes, "sizes");
    same_list(found->dim_order(), expected.layout.full_dim_order(), "dim order");
    same(found->storage_offset(), 0, "storage offset");
    same(found->requires_grad(), expected.requires_grad, "requires_grad");
    same(static_cast<int>(found->shape_dynamism()), expected.is_dynamic ? 1 : 0, "dynamism");
    const auto* extra = found->extra_tensor_info();
    same(extra == nullptr ? std::string_view() : view(extra->fully_qualified_name()),
         expected.fully_qualified_name, "name");
    same(extra == nullptr ? 0 : static_cast<int>(extra->device_type()),
         static_cast<int>(expected.device.type), "device");
    same(extra == nullptr ? 0 : extra->device_index(), int{expected.device.index}, "device index");
    same(extra != nullptr && extra->location() == schema::TensorDataLocation::EXTERNAL,
         std::holds_alternative<aot::storage::External>(expected.data), "location");
    const auto* place = found->allocation_info();
    same(place != nullptr, expected.place() != nullptr, "having a place");
    if (text_.empty() && place != nullptr) {
      same(place->memory_id(), expected.place()->memory_id, "memory id");
      same(std::uint64_t{place->memory_offset_high()} << 32 | place->memory_offset_low(),
           expected.place()->offset, "offset");
    }
    compare_data(*found, expected);
  }

  void compare_data(const schema::Tensor& found, const aot::TensorValue& expected) {
    const auto nbytes = expected.layout.nbytes();
    const auto index = found.data_buffer_idx();
    if (const auto* constant = std::get_if<aot::storage::Constant>(&expected.data)) {
      same(index != 0, true, "number of the constant");
      const auto& bytes = expected_->constants[constant->index];
      const auto data = found_->view().constant_data(index, bytes.size());
      if (!data.ok()) return fail(std::string(data.text()));
      if (!data->empty()) {
        same(reinterpret_cast<std::uintptr_t>(data->data()) % 16, 0u, "alignment of the constant");
      }
      return same_bytes(*data, bytes.bytes(), "constant");
    }
    if (const auto* state = std::get_if<aot::storage::InitialState>(&expected.data)) {
      same(index != 0, true, "number of the initial state");
      const auto data = found_->view().mutable_data(0, index, nbytes);
      if (!data.ok()) return fail(std::string(data.text()));
      return same_bytes(
          *data,
          expected_->initial_states[state->index].bytes().first(static_cast<std::size_t>(nbytes)),
          "initial state");
    }
    same(index, 0u, "number of the data");
  }

  void compare(const schema::BackendDelegate& found, const aot::DelegateData& expected) {
    same(view(found.id()), expected.id, "id");
    same_bytes(found_->view().delegate_data(found), expected.processed.bytes(), "blob");
    const bool is_inside = found.processed()->location() == schema::DataLocation::INLINE;
    same(is_inside, expected.processed.empty() || expected.placement == aot::BlobPlacement::Inline,
         "place of a blob");
    same(found.compile_specs()->size(), expected.compile_specs.size(), "number of compile specs");
    for (std::size_t i = 0; text_.empty() && i < expected.compile_specs.size(); ++i) {
      const auto& spec = *found.compile_specs()->Get(static_cast<unsigned>(i));
      same(view(spec.key()), expected.compile_specs[i].key, "key of a compile spec");
      same_bytes(std::as_bytes(std::span(spec.value()->data(), spec.value()->size())),
                 expected.compile_specs[i].value.bytes(), "value of a compile spec");
    }
  }

  void compare(const schema::Instruction& found, const aot::KernelCall& expected) {
    const auto* call = found.instr_args_as_KernelCall();
    if (call == nullptr) return fail("not a KernelCall");
    same(call->op_index(), static_cast<std::int32_t>(expected.op_index), "operator");
    same_list(call->args(), expected.args, "arguments");
  }
  void compare(const schema::Instruction& found, const aot::DelegateCall& expected) {
    const auto* call = found.instr_args_as_DelegateCall();
    if (call == nullptr) return fail("not a DelegateCall");
    same(call->delegate_index(), static_cast<std::int32_t>(expected.delegate_index), "delegate");
    same_list(call->args(), expected.args, "arguments");
  }
  void compare(const schema::Instruction& found, const aot::MoveCall& expected) {
    const auto* move = found.instr_args_as_MoveCall();
    if (move == nullptr) return fail("not a MoveCall");
    same(move->move_from(), expected.from, "from");
    same(move->move_to(), expected.to, "to");
  }
  void compare(const schema::Instruction& found, const aot::JumpFalseCall& expected) {
    const auto* jump = found.instr_args_as_JumpFalseCall();
    if (jump == nullptr) return fail("not a JumpFalseCall");
    same(jump->cond_value_index(), expected.condition, "condition");
    same(jump->destination_instruction(), static_cast<std::int32_t>(expected.destination),
         "destination");
  }
  void compare(const schema::Instruction& found, const aot::FreeCall& expected) {
    const auto* call = found.instr_args_as_FreeCall();
    if (call == nullptr) return fail("not a FreeCall");
    same(call->value_index(), expected.value, "value");
  }

  void compare_named_data() {
    const auto& expected = expected_->named_data;
    same(found_->num_keys(), expected.pte_data.size(), "number of keys");
    for (std::uint32_t i = 0; text_.empty() && i < found_->num_keys(); ++i) {
      same(found_->key(i), expected.pte_data[i].key, "key");
      const auto data = found_->key_data(i);
      same_bytes(data, expected.buffers[expected.pte_data[i].entry.buffer_index].bytes(),
                 "named data");
    }
  }

  const aot::ProgramData* expected_;
  const host::Program* found_;
  const aot::MethodData* method_ = nullptr;
  const schema::ExecutionPlan* plan_ = nullptr;
  std::string text_;
};

}  // namespace tenon::test
