// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/mutate/random.hpp"
#include "fuzz/mutate/words.hpp"
#include "support/program_builder.hpp"

namespace tenon::fuzz {

namespace objects = schema::objects;

/// Changes one method of a program. Most changes leave it right, so that it is loaded and run; each
/// index and number now and then gets a forbidden value.
class PlanMutator {
 public:
  PlanMutator(objects::ProgramT& program, objects::ExecutionPlanT& plan, Random& random) noexcept
      : program_(program), plan_(plan), random_(random) {}

  void change() {
    switch (random_.below(16)) {
      case 0:
        plan_.values.push_back(value());
        return;
      case 1:
        if (auto* one = any(plan_.values)) *one = value();
        return;
      case 2:
        return change_indices(plan_.inputs);
      case 3:
        return change_indices(plan_.outputs);
      case 4:
        return change_operators();
      case 5:
        return change_delegates();
      case 6:
        return change_memory();
      case 7:
      case 8:
      case 9:
        return change_instructions();
      case 10:
        if (random_.one_in(4)) plan_.chains.push_back(std::make_unique<objects::ChainT>());
        return change_instructions();
      default:
        return change_value();
    }
  }

 private:
  template <class T>
  std::unique_ptr<T>* any(std::vector<std::unique_ptr<T>>& list) {
    return list.empty() ? nullptr : &random_.pick(list);
  }

  /// An index of a list of `count`, or sometimes another number.
  std::int32_t index(std::size_t count) {
    if (random_.one_in(24)) return static_cast<std::int32_t>(other_number(count, count, random_));
    return static_cast<std::int32_t>(random_.below(count));
  }
  std::int32_t value_index() { return index(plan_.values.size()); }
  /// An index of a value of that kind, where there is one.
  std::int32_t value_index(schema::KernelTypes kind) {
    std::vector<std::int32_t> fitting;
    for (std::size_t i = 0; i < plan_.values.size(); ++i) {
      const auto& one = plan_.values[i];
      if (one && static_cast<int>(one->val.type) == static_cast<int>(kind)) {
        fitting.push_back(static_cast<std::int32_t>(i));
      }
    }
    return fitting.empty() || random_.one_in(24) ? value_index() : random_.pick(fitting);
  }

  template <class Number, class Make>
  void change_list(std::vector<Number>& list, const Make& make) {
    const std::size_t choice = list.empty() ? 0 : random_.below(4);
    if (choice == 0 && list.size() < 64) {
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(random_.below(list.size() + 1)),
                  static_cast<Number>(make()));
    } else if (choice == 1) {
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(random_.below(list.size())));
    } else if (!list.empty()) {
      random_.pick(list) = static_cast<Number>(make());
    }
  }
  void change_indices(std::vector<std::int32_t>& list) {
    change_list(list, [this] { return value_index(); });
  }

  std::vector<std::int32_t> some_values() {
    std::vector<std::int32_t> out(random_.below(5));
    for (auto& one : out) one = value_index();
    return out;
  }
  template <class Number>
  std::vector<Number> some_of(schema::KernelTypes kind, bool or_none) {
    std::vector<Number> out(random_.below(4));
    for (auto& one : out) {
      one = or_none && random_.one_in(3) ? Number{-1} : Number{value_index(kind)};
    }
    return out;
  }

  std::string text() {
    static const std::string texts[] = {
        "",        "out",         "aten::add",          "aten::copy_",
        "x",       "w",           "et_copy::_h2d_copy", "module.weight",
        "forward", "NoopBackend", "XnnpackBackend",     "touch::op"};
    std::string out = random_.pick(texts);
    if (random_.one_in(6)) mutate_text(out, out.size() + 4);
    return out;
  }

  std::unique_ptr<objects::EValueT> value() {
    using namespace test;
    using Kind = schema::KernelTypes;
    switch (random_.below(14)) {
      case 0:
        return make_union<objects::EValueT>(objects::NullT());
      case 1:
        return make_union<objects::EValueT>(
            int_value(static_cast<std::int64_t>(other_number(1, 8, random_))));
      case 2:
        return make_union<objects::EValueT>(bool_value(random_.one_in(2)));
      case 3:
        return make_union<objects::EValueT>(double_value(static_cast<double>(random_.next())));
      case 4:
        return make_union<objects::EValueT>(string_value(text()));
      case 5:
        return make_union<objects::EValueT>(int_list(some_of<std::int64_t>(Kind::Int, false)));
      case 6:
        return make_union<objects::EValueT>(
            double_list(std::vector<double>(random_.below(5), 0.5)));
      case 7:
        return make_union<objects::EValueT>(
            bool_list(std::vector<bool>(random_.below(5), random_.one_in(2))));
      case 8:
        return make_union<objects::EValueT>(
            tensor_list(some_of<std::int32_t>(Kind::Tensor, false)));
      case 9:
        return make_union<objects::EValueT>(
            optional_tensor_list(some_of<std::int32_t>(Kind::Tensor, true)));
      default: {
        std::vector<std::int32_t> sizes(random_.below(4));
        for (auto& size : sizes) size = static_cast<std::int32_t>(random_.below(5));
        objects::TensorT out = tensor(ScalarType::Float, std::move(sizes));
        for (std::size_t i = 0; i < 4; ++i) change_tensor(out);
        return make_union<objects::EValueT>(std::move(out));
      }
    }
  }

  void change_value() {
    auto* const one = any(plan_.values);
    if (!one || !*one) return;
    auto& val = (*one)->val;
    if (auto* tensor = val.AsTensor()) return change_tensor(*tensor);
    if (auto* text_value = val.AsString()) return mutate_text(text_value->string_val, 32);
    if (auto* number = val.AsInt()) {
      number->int_val = static_cast<std::int64_t>(
          other_number(static_cast<std::uint64_t>(number->int_val), 8, random_));
    }
    if (auto* flag = val.AsBool()) flag->bool_val = !flag->bool_val;
    if (auto* list = val.AsIntList()) {
      change_list(list->items, [this] { return value_index(schema::KernelTypes::Int); });
    }
    if (auto* list = val.AsTensorList()) {
      change_list(list->items, [this] { return value_index(schema::KernelTypes::Tensor); });
    }
    if (auto* list = val.AsOptionalTensorList()) {
      change_list(list->items, [this] {
        return random_.one_in(3) ? -1 : value_index(schema::KernelTypes::Tensor);
      });
    }
    if (auto* list = val.AsBoolList()) {
      list->items.assign(random_.below(5), random_.one_in(2));
    }
  }

  objects::ExtraTensorInfoT& extra(objects::TensorT& tensor) {
    if (!tensor.extra_tensor_info) {
      tensor.extra_tensor_info = std::make_unique<objects::ExtraTensorInfoT>();
    }
    return *tensor.extra_tensor_info;
  }

  void change_tensor(objects::TensorT& tensor) {
    switch (random_.below(14)) {
      case 0:
        if (tensor.sizes.empty() || random_.one_in(3)) {
          tensor.dim_order.push_back(static_cast<std::uint8_t>(tensor.dim_order.size()));
          tensor.sizes.push_back(static_cast<std::int32_t>(random_.below(4)));
          return;
        }
        random_.pick(tensor.sizes) = random_.one_in(6)
                                         ? static_cast<std::int32_t>(other_number(1, 8, random_))
                                         : static_cast<std::int32_t>(random_.below(9));
        return;
      case 1:
        if (tensor.dim_order.size() > 1) {
          std::swap(random_.pick(tensor.dim_order), random_.pick(tensor.dim_order));
        }
        return;
      case 2:
        tensor.scalar_type = static_cast<schema::ScalarType>(
            random_.one_in(8) ? static_cast<std::int8_t>(random_.next())
                              : static_cast<std::int8_t>(random_.below(46)));
        return;
      case 3:
        tensor.shape_dynamism =
            static_cast<schema::TensorShapeDynamism>(random_.below(random_.one_in(8) ? 5 : 2));
        return;
      case 4:
      case 5:
        tensor.allocation_info = std::make_unique<objects::AllocationDetailsT>();
        tensor.allocation_info->memory_id =
            1 + static_cast<std::uint32_t>(random_.below(plan_.non_const_buffer_sizes.size()));
        tensor.allocation_info->memory_offset_low = static_cast<std::uint32_t>(
            random_.one_in(8) ? other_number(16, 64, random_) : random_.below(8) * 16);
        tensor.allocation_info->memory_offset_high = random_.one_in(32) ? 1 : 0;
        return;
      case 6:
        tensor.allocation_info.reset();
        return;
      case 7:
        tensor.data_buffer_idx = static_cast<std::uint32_t>(index(4));
        return;
      case 8:
        extra(tensor).location = static_cast<schema::TensorDataLocation>(random_.below(2));
        return;
      case 9:
        extra(tensor).fully_qualified_name = text();
        return;
      case 10:
        extra(tensor).device_type = static_cast<schema::DeviceType>(random_.below(2));
        extra(tensor).device_index = static_cast<std::int8_t>(random_.below(2));
        return;
      case 11:
        extra(tensor).mutable_data_segments_idx = static_cast<std::uint64_t>(index(2));
        return;
      case 12:
        tensor.extra_tensor_info.reset();
        return;
      default:
        tensor.requires_grad = !tensor.requires_grad;
        if (random_.one_in(16)) tensor.storage_offset = 1;
        return;
    }
  }

  void change_operators() {
    if (plan_.operators.empty() || random_.one_in(2)) {
      plan_.operators.push_back(std::make_unique<objects::OperatorT>());
    }
    auto& one = *random_.pick(plan_.operators);
    (random_.one_in(2) ? one.name : one.overload) = text();
  }

  void change_delegates() {
    if (plan_.delegates.empty() || random_.one_in(3)) {
      auto& added = *plan_.delegates.emplace_back(std::make_unique<objects::BackendDelegateT>());
      added.id = "NoopBackend";
      added.processed = std::make_unique<objects::BackendDelegateDataReferenceT>();
    }
    auto& one = *random_.pick(plan_.delegates);
    if (!one.processed) one.processed = std::make_unique<objects::BackendDelegateDataReferenceT>();
    static const std::string ids[] = {
        "NoopBackend",     "XnnpackBackend",          "BackendWithNamedDataMap",
        "ExecutorBackend", "BackendWithCompilerDemo", "DeviceBackend"};
    switch (random_.below(4)) {
      case 0:
        one.id = random_.one_in(8) ? text() : random_.pick(ids);
        return;
      case 1:
        one.processed->location = static_cast<schema::DataLocation>(random_.below(2));
        one.processed->index = static_cast<std::uint32_t>(
            index(one.processed->location == schema::DataLocation::SEGMENT
                      ? program_.segments.size()
                      : program_.backend_delegate_data.size()));
        return;
      case 2: {
        auto& spec = *one.compile_specs.emplace_back(std::make_unique<objects::CompileSpecT>());
        spec.key = text();
        spec.value.resize(random_.below(9));
        return;
      }
      default:
        if (!one.compile_specs.empty()) one.compile_specs.pop_back();
        return;
    }
  }

  void change_memory() {
    auto& sizes = plan_.non_const_buffer_sizes;
    if (sizes.empty()) sizes.push_back(0);
    switch (random_.below(4)) {
      case 0:
        sizes.push_back(static_cast<std::int64_t>(random_.below(9) * 32));
        return;
      case 1: {
        auto& device = *plan_.non_const_buffer_device.emplace_back(
            std::make_unique<objects::NonConstBufferDeviceT>());
        device.buffer_idx = index(sizes.size());
        device.device_type = static_cast<schema::DeviceType>(random_.below(2));
        return;
      }
      case 2:
        if (!plan_.non_const_buffer_device.empty()) plan_.non_const_buffer_device.pop_back();
        return;
      default:
        random_.pick(sizes) = random_.one_in(8)
                                  ? static_cast<std::int64_t>(other_number(
                                        static_cast<std::uint64_t>(sizes.back()), 4096, random_))
                                  : static_cast<std::int64_t>(random_.below(33) * 16);
    }
  }

  std::unique_ptr<objects::InstructionT> instruction(std::size_t count) {
    using namespace test;
    switch (random_.below(6)) {
      case 0:
        return make_union<objects::InstructionT>(
            kernel_call(index(plan_.operators.size()), some_values()));
      case 1:
        return make_union<objects::InstructionT>(
            delegate_call(index(plan_.delegates.size()), some_values()));
      case 2:
        // Backwards is an endless loop, mostly.
        return make_union<objects::InstructionT>(
            jump_false_call(value_index(schema::KernelTypes::Bool),
                            random_.one_in(32) ? index(count) : static_cast<std::int32_t>(count)));
      case 3:
        return make_union<objects::InstructionT>(free_call(value_index()));
      default:
        return make_union<objects::InstructionT>(move_call(value_index(), value_index()));
    }
  }

  void change_instructions() {
    auto* const chain = any(plan_.chains);
    if (!chain || !*chain) {
      plan_.chains.push_back(std::make_unique<objects::ChainT>());
      return;
    }
    auto& list = (*chain)->instructions;
    const auto place = [&](std::size_t count) {
      return list.begin() + static_cast<std::ptrdiff_t>(random_.below(count));
    };
    switch (list.empty() ? 0 : random_.below(5)) {
      case 0:
      case 1:
        if (list.size() < 64) {
          auto added = instruction(list.size() + 1);
          list.insert(place(list.size() + 1), std::move(added));
        }
        return;
      case 2:
        list.erase(place(list.size()));
        return;
      case 3:
        std::swap(*place(list.size()), *place(list.size()));
        return;
      default:
        return change_arguments(**place(list.size()));
    }
  }

  void change_arguments(objects::InstructionT& one) {
    auto& args = one.instr_args;
    if (auto* call = args.AsKernelCall()) return change_indices(call->args);
    if (auto* call = args.AsDelegateCall()) return change_indices(call->args);
    if (auto* move = args.AsMoveCall()) {
      (random_.one_in(2) ? move->move_from : move->move_to) = value_index();
    }
    if (auto* jump = args.AsJumpFalseCall()) {
      jump->cond_value_index = random_.one_in(2) ? value_index(schema::KernelTypes::Bool)
                                                 : value_index(schema::KernelTypes::Tensor);
    }
    if (auto* free = args.AsFreeCall()) free->value_index = value_index();
  }

  objects::ProgramT& program_;
  objects::ExecutionPlanT& plan_;
  Random& random_;
};

}  // namespace tenon::fuzz
