// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "fuzz/method_walk.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/layers/inspect/method_meta.hpp"
#include "tenon/host/layers/prove/golden.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/impl/program/flatbuffer_root.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::test {

/// Reads everything that can be reached through the accessors of an opened file, as later code
/// does: without checks. A wrong file that was accepted then reads outside its bytes, which a
/// sanitizer sees. Returns a number made of all that was read, so that nothing is optimised away.
class Walk {
 public:
  static std::uint64_t program(const std::shared_ptr<const host::Program>& program) {
    Walk walk;
    for (std::size_t i = 0; i < program->view().num_segments(); ++i)
      walk.touch(program->view().segment(i));
    for (const auto name : program->method_names()) {
      walk.touch(name);
      walk.plan(*program, **program->plan(name));
      walk.meta(*host::MethodMeta::of(*program, name));
    }
    walk.mutable_data(*program);
    walk.constants(*program);
    walk.named_data(*program);
    walk.variants(*program);
    walk.golden(*program);
    walk.map(*host::MergedDataMap::create(program));
    return walk.sum_;
  }

  static std::uint64_t data_file(const std::shared_ptr<const host::DataFile>& file) {
    Walk walk;
    walk.named_data(*file);
    for (std::uint32_t i = 0; i < file->num_keys(); ++i) {
      if (const auto layout = file->key_layout(i)) walk.layout(*layout);
    }
    walk.map(*host::MergedDataMap::create(nullptr, {file}));
    return walk.sum_;
  }

 private:
  /// A table of variants that is wrong is an error of its own.
  void variants(const host::Program& program) {
    const auto all = host::Variants::of(program);
    if (!all.ok()) return add(static_cast<std::uint64_t>(all.error()));
    for (const std::string_view method : all->visible_methods()) {
      for (const host::ProgramVariant& variant : all->of_method(method)) {
        touch(variant.name);
        touch(program.method_name(variant.plan));
        for (const host::VariantNeed& need : variant.needs) touch(need.backend_id);
      }
    }
  }

  /// Golden cases that are wrong are an error of their own, too.
  void golden(const host::Program& program) {
    const auto all = host::golden_cases_of(program);
    if (!all.ok()) return add(static_cast<std::uint64_t>(all.error()));
    for (const host::GoldenCase& one : all->cases) {
      touch(one.method);
      for (const auto* list : {&one.inputs, &one.outputs}) {
        for (const host::GoldenTensor& tensor : *list) touch(tensor.data);
      }
    }
  }

  void add(std::uint64_t number) { sum_ = sum_ * 31 + number; }
  void touch(std::span<const std::byte> bytes) {
    add(bytes.size());
    if (bytes.empty()) return;
    add(std::to_integer<std::uint64_t>(bytes.front()));
    add(std::to_integer<std::uint64_t>(bytes.back()));
  }
  void touch(std::string_view text) { touch(std::as_bytes(std::span(text.data(), text.size()))); }
  void touch(const flatbuffers::String* text) {
    if (text != nullptr) touch(text->string_view());
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void touch(const flatbuffers::Vector<Number>* numbers) {
    if (numbers == nullptr) return;
    for (const auto number : *numbers) add(static_cast<std::uint64_t>(number != Number{}));
  }

  void layout(const host::StoredTensorLayout& layout) {
    touch(std::as_bytes(layout.sizes));
    touch(std::as_bytes(layout.dim_order));
    add(layout.nbytes());
    add(size_of(layout.scalar_type));
    std::int64_t stride = 1;
    for (auto i = layout.dim_order.size(); i-- > 0;) {
      const auto size = layout.sizes[layout.dim_order[i]];
      add(static_cast<std::uint64_t>(stride));
      if (size > 1) stride *= size;
    }
  }

  void tensor(const host::Program& program, const schema::ExecutionPlan& plan,
              const schema::Tensor& tensor) {
    const auto shape = host::detail::layout_of(tensor);
    layout(shape);
    const auto* extra = tensor.extra_tensor_info();
    const auto* place = tensor.allocation_info();
    if (extra != nullptr) touch(extra->fully_qualified_name());
    if (place != nullptr) {
      add(static_cast<std::uint64_t>(plan.non_const_buffer_sizes()->Get(place->memory_id())));
    }
    if (extra != nullptr && extra->location() == schema::TensorDataLocation::EXTERNAL) return;
    if (tensor.data_buffer_idx() == 0) return;
    touch(place == nullptr ? *program.view().constant_data(tensor.data_buffer_idx(), shape.nbytes())
                           : *program.view().mutable_data(
                                 extra == nullptr ? 0 : extra->mutable_data_segments_idx(),
                                 tensor.data_buffer_idx(), shape.nbytes()));
  }

  template <class Items>
  void value_list(const schema::ExecutionPlan& plan, const Items& items) {
    for (const auto item : items) {
      if (item != -1) add(host::value_kind(value_at(plan, item)));
    }
  }

  static const schema::EValue& value_at(const schema::ExecutionPlan& plan, std::int64_t index) {
    return *plan.values()->Get(static_cast<flatbuffers::uoffset_t>(index));
  }

  void value(const host::Program& program, const schema::ExecutionPlan& plan,
             const schema::EValue& value) {
    using schema::KernelTypes;
    switch (value.val_type()) {
      case KernelTypes::Int:
        return add(static_cast<std::uint64_t>(value.val_as_Int()->int_val()));
      case KernelTypes::Bool:
        return add(value.val_as_Bool()->bool_val());
      case KernelTypes::Double:
        return add(value.val_as_Double()->double_val() != 0.0);
      case KernelTypes::String:
        return touch(value.val_as_String()->string_val());
      case KernelTypes::Tensor:
        return tensor(program, plan, *value.val_as_Tensor());
      case KernelTypes::DoubleList:
        return touch(value.val_as_DoubleList()->items());
      case KernelTypes::BoolList: {
        const auto& items = *value.val_as_BoolList()->items();
        const auto* first = reinterpret_cast<const bool*>(items.data());
        for (std::uint32_t i = 0; i < items.size(); ++i) add(first[i]);
        return;
      }
      case KernelTypes::IntList:
        return value_list(plan, *value.val_as_IntList()->items());
      case KernelTypes::TensorList:
        return value_list(plan, *value.val_as_TensorList()->items());
      case KernelTypes::OptionalTensorList:
        return value_list(plan, *value.val_as_OptionalTensorList()->items());
      default:
        return;
    }
  }

  void instruction(const schema::ExecutionPlan& plan, const schema::Instruction& instruction) {
    using schema::InstructionArguments;
    switch (instruction.instr_args_type()) {
      case InstructionArguments::KernelCall: {
        const auto& call = *instruction.instr_args_as_KernelCall();
        touch(plan.operators()->Get(static_cast<std::uint32_t>(call.op_index()))->name());
        return value_list(plan, *call.args());
      }
      case InstructionArguments::DelegateCall: {
        const auto& call = *instruction.instr_args_as_DelegateCall();
        touch(plan.delegates()->Get(static_cast<std::uint32_t>(call.delegate_index()))->id());
        return value_list(plan, *call.args());
      }
      case InstructionArguments::MoveCall: {
        const auto& move = *instruction.instr_args_as_MoveCall();
        add(host::value_kind(value_at(plan, move.move_from())));
        return add(host::value_kind(value_at(plan, move.move_to())));
      }
      case InstructionArguments::JumpFalseCall:
        return add(host::value_kind(
            value_at(plan, instruction.instr_args_as_JumpFalseCall()->cond_value_index())));
      default:
        return add(
            host::value_kind(value_at(plan, instruction.instr_args_as_FreeCall()->value_index())));
    }
  }

  void plan(const host::Program& program, const schema::ExecutionPlan& plan) {
    for (const auto* entry : *plan.values()) value(program, plan, *entry);
    for (const auto* delegate : *plan.delegates()) {
      touch(delegate->id());
      touch(program.view().delegate_data(*delegate));
      for (const auto* spec : *delegate->compile_specs()) {
        touch(spec->key());
        touch(spec->value());
      }
    }
    for (const auto* chain : *plan.chains()) {
      for (const auto* entry : *chain->instructions()) instruction(plan, *entry);
    }
    touch(plan.non_const_buffer_sizes());
  }

  void tensor_meta(const Result<host::TensorMeta>& meta) {
    if (!meta.ok()) return;
    layout(meta->layout);
    touch(meta->name);
    add(static_cast<std::uint64_t>(meta->device.device_type));
  }

  void meta(const host::MethodMeta& meta) {
    touch(meta.name());
    for (std::size_t i = 0; i < meta.num_inputs(); ++i) {
      add(*meta.input_tag(i));
      tensor_meta(meta.input_tensor_meta(i));
    }
    for (std::size_t i = 0; i < meta.num_outputs(); ++i) {
      add(*meta.output_tag(i));
      tensor_meta(meta.output_tensor_meta(i));
    }
    if (const auto count = meta.num_attributes(); count != 0) {
      tensor_meta(meta.attribute_tensor_meta(count - 1));
    }
    for (std::size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
      add(*meta.memory_planned_buffer_size(i));
    }
    if (const auto count = meta.num_memory_planned_buffers(); count != 0) {
      add(static_cast<std::uint64_t>(meta.memory_planned_buffer_device(count - 1)->device_id));
    }
    for (const auto id : meta.backends()) add(meta.uses_backend(id));
    for (std::size_t i = 0; i < meta.num_delegates(); ++i) touch(meta.delegate(i)->blob);
    for (std::size_t i = 0; i < meta.num_operators(); ++i) touch(*meta.operator_name(i));
    add(meta.num_instructions());
  }

  void mutable_data(const host::Program& program) {
    const auto* all = program.flatbuffer().mutable_data_segments();
    for (std::uint32_t i = 0; all != nullptr && i < all->size(); ++i) {
      for (std::uint32_t j = 0; j < all->Get(i)->offsets()->size(); ++j) {
        touch(*program.view().mutable_data(i, j, 0));
      }
    }
  }

  void constants(const host::Program& program) {
    if (!program.view().uses_constant_segment()) return;
    const auto count = program.flatbuffer().constant_segment()->offsets()->size();
    for (std::uint32_t i = 0; i < count; ++i) touch(*program.view().constant_data(i, 0));
  }

  template <class File>
  void named_data(const File& file) {
    for (std::uint32_t i = 0; i < file.num_keys(); ++i) {
      const auto key = file.key(i);
      touch(key);
      touch(file.key_data(*file.find_key(key)));
      file.drop(file.key_data(i));
    }
  }

  void map(const std::shared_ptr<const host::MergedDataMap>& map) {
    for (std::uint32_t i = 0; i < map->num_keys(); ++i) touch(map->find(*map->key(i))->data);
  }

  std::uint64_t sum_ = 1;
};

/// Opens the bytes as a program or as a data file and walks what opens; the methods of a program
/// are loaded and run too. Never fails: the point is what a sanitizer says.
inline std::uint64_t open_and_walk(std::span<const std::byte> bytes) {
  if (auto program = host::Program::from_bytes(bytes, nullptr, "bytes"); program.ok()) {
    return Walk::program(*program) + MethodWalk::program(*program);
  }
  if (auto file = host::DataFile::from_bytes(bytes, nullptr, "bytes"); file.ok()) {
    return Walk::data_file(*file);
  }
  return 0;
}

}  // namespace tenon::test
