// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/result.hpp"
#include "tenon/host/program_view.hpp"
#include "tenon/host/quoted.hpp"
#include "tenon/host/tensor_layout.hpp"

namespace tenon::host {

/// The DLPack device for a device of a verified program. The two count types differently; a type
/// that the schema gains must be added here, where the compiler warns.
[[nodiscard]] constexpr tenon_dl_device dl_device(schema::DeviceType type,
                                                  std::int8_t index) noexcept {
  switch (type) {
    case schema::DeviceType::CPU:
      break;
    case schema::DeviceType::CUDA:
      return {TENON_DL_CUDA, index};
  }
  return {TENON_DL_CPU, 0};
}

/// Name and overload of an operator, joined by a dot ("aten::add.out"), as kernels are found.
[[nodiscard]] inline std::string operator_name(const schema::Operator& op) {
  std::string name = op.name()->str();
  if (op.overload() != nullptr && op.overload()->size() != 0) {
    name += '.';
    name += op.overload()->string_view();
  }
  return name;
}

/// Kind of a verified value (TENON_VALUE_...). Its name is `value_kind_name` of core/args.hpp.
[[nodiscard]] inline std::uint32_t value_kind(const schema::EValue& value) noexcept {
  using schema::KernelTypes;
  switch (value.val_type()) {
    case KernelTypes::Int:
      return TENON_VALUE_INT;
    case KernelTypes::Bool:
      return TENON_VALUE_BOOL;
    case KernelTypes::Double:
      return TENON_VALUE_DOUBLE;
    case KernelTypes::Tensor:
      return TENON_VALUE_TENSOR;
    case KernelTypes::String:
      return TENON_VALUE_STRING;
    case KernelTypes::IntList:
      return TENON_VALUE_INT_LIST;
    case KernelTypes::DoubleList:
      return TENON_VALUE_DOUBLE_LIST;
    case KernelTypes::BoolList:
      return TENON_VALUE_BOOL_LIST;
    case KernelTypes::TensorList:
      return TENON_VALUE_TENSOR_LIST;
    case KernelTypes::OptionalTensorList:
      return TENON_VALUE_OPTIONAL_TENSOR_LIST;
    default:
      return TENON_VALUE_NONE;
  }
}

/// What a program says of one tensor (ExecuTorch: TensorInfo).
struct TensorMeta {
  TensorLayout layout;  ///< Upper bounds when the shape is dynamic.

  /// Whether the program has memory for the data. Constants count, as in ExecuTorch.
  bool is_memory_planned = false;
  std::uint32_t shape_dynamism = TENON_SHAPE_STATIC;  ///< TENON_SHAPE_...
  std::string_view name;  ///< Fully qualified name ("module.linear.weight"); may be empty.
  tenon_dl_device device{TENON_DL_CPU, 0};
};

/// What a program says of one delegate.
struct DelegateMeta {
  struct CompileSpec {
    std::string_view key;
    std::span<const std::byte> value;
  };

  std::string_view id;  ///< Of the backend.
  std::span<const std::byte> blob;
  std::vector<CompileSpec> compile_specs;  ///< In the order of the file.
};

/// What a program says of one method, without loading it (ExecuTorch: runtime/executor/
/// method_meta.h, whose names these are).
///
/// A view: the program must outlive it and all that it returns. Immutable; any thread may use it.
/// A function with an index fails with InvalidArgument when the index is above the end.
class MethodMeta {
 public:
  /// `plan` is one of the plans of the verified program that `view` shows.
  MethodMeta(const ProgramView& view, const schema::ExecutionPlan& plan) noexcept
      : view_(view), plan_(&plan) {}

  [[nodiscard]] std::string_view name() const noexcept { return plan_->name()->string_view(); }

  [[nodiscard]] std::size_t num_inputs() const noexcept { return plan_->inputs()->size(); }
  [[nodiscard]] std::size_t num_outputs() const noexcept { return plan_->outputs()->size(); }

  /// Kind of an input or output (TENON_VALUE_...).
  [[nodiscard]] Result<std::uint32_t> input_tag(std::size_t index) const {
    TENON_TRY(const auto* value, value_at(*plan_->inputs(), index, "input"));
    return value_kind(*value);
  }
  [[nodiscard]] Result<std::uint32_t> output_tag(std::size_t index) const {
    TENON_TRY(const auto* value, value_at(*plan_->outputs(), index, "output"));
    return value_kind(*value);
  }

  /// Facts of a tensor among the inputs or outputs; InvalidArgument when it is of another kind.
  [[nodiscard]] Result<TensorMeta> input_tensor_meta(std::size_t index) const {
    TENON_TRY(const auto* value, value_at(*plan_->inputs(), index, "input"));
    return tensor_meta(*value, index, "input");
  }
  [[nodiscard]] Result<TensorMeta> output_tensor_meta(std::size_t index) const {
    TENON_TRY(const auto* value, value_at(*plan_->outputs(), index, "output"));
    return tensor_meta(*value, index, "output");
  }

  /// Tensors that have a name, in the order of the file.
  [[nodiscard]] std::size_t num_attributes() const noexcept {
    std::size_t count = 0;
    for (const auto* value : *plan_->values()) count += is_attribute(*value) ? 1 : 0;
    return count;
  }
  [[nodiscard]] Result<TensorMeta> attribute_tensor_meta(std::size_t index) const {
    std::size_t count = 0;
    for (const auto* value : *plan_->values()) {
      if (!is_attribute(*value)) continue;
      if (count++ == index) return meta_of(*value->val_as_Tensor());
    }
    return above_end("attribute", index, count);
  }

  /// Buffers that the method needs, in the order of `memory_id` from 1 on: buffer `index` here is
  /// `memory_id` `index` + 1 of the file, whose entry 0 is reserved.
  [[nodiscard]] std::size_t num_memory_planned_buffers() const noexcept {
    const std::size_t size = plan_->non_const_buffer_sizes()->size();
    return size == 0 ? 0 : size - 1;
  }
  /// Bytes of a buffer.
  [[nodiscard]] Result<std::uint64_t> memory_planned_buffer_size(std::size_t index) const {
    if (index >= num_memory_planned_buffers()) {
      return above_end("memory-planned buffer", index, num_memory_planned_buffers());
    }
    return static_cast<std::uint64_t>(plan_->non_const_buffer_sizes()->Get(offset(index + 1)));
  }
  [[nodiscard]] Result<tenon_dl_device> memory_planned_buffer_device(std::size_t index) const {
    if (index >= num_memory_planned_buffers()) {
      return above_end("memory-planned buffer", index, num_memory_planned_buffers());
    }
    if (const auto* devices = plan_->non_const_buffer_device(); devices != nullptr) {
      for (const auto* entry : *devices) {
        if (static_cast<std::size_t>(entry->buffer_idx()) != index + 1) continue;
        return dl_device(entry->device_type(), entry->device_index());
      }
    }
    return tenon_dl_device{TENON_DL_CPU, 0};
  }

  /// Instructions of all chains.
  [[nodiscard]] std::size_t num_instructions() const noexcept {
    std::size_t count = 0;
    for (const auto* chain : *plan_->chains()) count += chain->instructions()->size();
    return count;
  }

  [[nodiscard]] std::size_t num_delegates() const noexcept { return plan_->delegates()->size(); }
  [[nodiscard]] Result<DelegateMeta> delegate(std::size_t index) const {
    if (index >= num_delegates()) return above_end("delegate", index, num_delegates());
    const auto& delegate = *plan_->delegates()->Get(offset(index));
    DelegateMeta meta{delegate.id()->string_view(), view_.delegate_data(delegate), {}};
    for (const auto* spec : *delegate.compile_specs()) {
      meta.compile_specs.push_back(
          {spec->key()->string_view(),
           std::as_bytes(std::span(spec->value()->data(), spec->value()->size()))});
    }
    return meta;
  }

  [[nodiscard]] bool uses_backend(std::string_view id) const noexcept {
    for (const auto* delegate : *plan_->delegates()) {
      if (delegate->id()->string_view() == id) return true;
    }
    return false;
  }

  /// Ids of the backends that the delegates need: sorted, each once.
  [[nodiscard]] std::vector<std::string_view> backends() const {
    std::vector<std::string_view> ids;
    for (const auto* delegate : *plan_->delegates()) ids.push_back(delegate->id()->string_view());
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }

  /// Operators that kernel calls refer to.
  [[nodiscard]] std::size_t num_operators() const noexcept {
    return plan_->operators() == nullptr ? 0 : plan_->operators()->size();
  }
  /// See `operator_name` above.
  [[nodiscard]] Result<std::string> operator_name(std::size_t index) const {
    if (index >= num_operators()) return above_end("operator", index, num_operators());
    return host::operator_name(*plan_->operators()->Get(offset(index)));
  }

 private:
  static flatbuffers::uoffset_t offset(std::size_t index) noexcept {
    return static_cast<flatbuffers::uoffset_t>(index);
  }

  [[nodiscard]] Status above_end(std::string_view what, std::size_t index,
                                 std::size_t count) const {
    return error(Error::InvalidArgument, "method ", quoted(name()), ": ", what, " ", index,
                 " does not exist: there are ", count);
  }

  [[nodiscard]] Result<const schema::EValue*> value_at(
      const flatbuffers::Vector<std::int32_t>& indices, std::size_t index,
      std::string_view what) const {
    if (index >= indices.size()) return above_end(what, index, indices.size());
    return plan_->values()->Get(static_cast<flatbuffers::uoffset_t>(indices.Get(offset(index))));
  }

  [[nodiscard]] Result<TensorMeta> tensor_meta(const schema::EValue& value, std::size_t index,
                                               std::string_view what) const {
    if (const auto* tensor = value.val_as_Tensor(); tensor != nullptr) return meta_of(*tensor);
    return error(Error::InvalidArgument, "method ", quoted(name()), ": ", what, " ", index,
                 " is of kind ", schema::EnumNameKernelTypes(value.val_type()),
                 ", expected Tensor");
  }

  static bool is_attribute(const schema::EValue& value) noexcept {
    const auto* tensor = value.val_as_Tensor();
    return tensor != nullptr && !name_of_tensor(*tensor).empty();
  }

  static std::string_view name_of_tensor(const schema::Tensor& tensor) noexcept {
    const auto* extra = tensor.extra_tensor_info();
    if (extra == nullptr || extra->fully_qualified_name() == nullptr) return {};
    return extra->fully_qualified_name()->string_view();
  }

  static TensorMeta meta_of(const schema::Tensor& tensor) noexcept {
    TensorMeta meta;
    meta.layout = detail::layout_of(tensor);
    meta.is_memory_planned = tensor.allocation_info() != nullptr || tensor.data_buffer_idx() != 0;
    meta.shape_dynamism = static_cast<std::uint32_t>(tensor.shape_dynamism());
    meta.name = name_of_tensor(tensor);
    if (const auto* extra = tensor.extra_tensor_info(); extra != nullptr) {
      meta.device = dl_device(extra->device_type(), extra->device_index());
    }
    return meta;
  }

  ProgramView view_;
  const schema::ExecutionPlan* plan_;
};

}  // namespace tenon::host
