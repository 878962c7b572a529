// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/host/flatbuffer_root.hpp"
#include "tenon/host/program_view.hpp"
#include "tenon/host/quoted.hpp"
#include "tenon/host/tensor_layout.hpp"

namespace tenon::host::detail {

/// What checks of one plan need. Segments and planned buffers have been checked when values are.
struct PlanScope {
  const ProgramView& view;
  const schema::ExecutionPlan& plan;
  WorkLimit& limit;
  std::size_t num_values = 0;
};

/// Checks that `found` is an index into a list of `count` entries called `list`. The pieces name
/// the field.
template <class... Pieces>
[[nodiscard]] Status verify_index(std::int64_t found, std::size_t count, std::string_view list,
                                  const Pieces&... field) {
  if (found >= 0 && static_cast<std::uint64_t>(found) < count) [[likely]]
    return ok();
  return error(Error::InvalidProgram, field..., " is ", found, ", expected an index of one of ",
               count, " ", list);
}

[[nodiscard]] inline Status verify_device(schema::DeviceType type, std::int8_t index) {
  if (type < schema::DeviceType::MIN || type > schema::DeviceType::MAX) {
    return error(Error::InvalidProgram, "device_type is ", static_cast<int>(type),
                 ", expected 0 (CPU) or 1 (CUDA)");
  }
  if (index < 0) {
    return error(Error::InvalidProgram, "device_index is ", static_cast<int>(index),
                 ", expected 0 or more");
  }
  return ok();
}

/// Checks a place in planned memory (HierarchicalAllocator::get_offset_address).
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
    TENON_CHECK(verify_allocation(scope, *tensor.allocation_info(), nbytes, alignment));
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
  TENON_CHECK(verify_layout(tensor, Error::InvalidProgram));
  if (tensor.shape_dynamism() == TensorShapeDynamism::DYNAMIC_UNBOUND) {
    return error(Error::NotSupported, "shape_dynamism is DYNAMIC_UNBOUND, which no host supports");
  }
  if (tensor.shape_dynamism() < TensorShapeDynamism::MIN ||
      tensor.shape_dynamism() > TensorShapeDynamism::MAX) {
    return error(Error::InvalidProgram, "shape_dynamism is ",
                 static_cast<int>(tensor.shape_dynamism()), ", expected 0 to 2");
  }
  if (const auto* extra = tensor.extra_tensor_info(); extra != nullptr) {
    TENON_CHECK(verify_device(extra->device_type(), extra->device_index()));
    if (extra->location() < schema::TensorDataLocation::MIN ||
        extra->location() > schema::TensorDataLocation::MAX) {
      return error(Error::InvalidProgram, "location is ", static_cast<int>(extra->location()),
                   ", expected 0 (SEGMENT) or 1 (EXTERNAL)");
    }
  }
  return verify_data_source(scope, tensor);
}

/// Checks that items are there, aligned, and no more work than the file deserves.
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
  TENON_CHECK(verify_items(scope, items));
  for (flatbuffers::uoffset_t i = 0; i < items->size(); ++i) {
    const std::int64_t item = items->Get(i);
    if (item == -1 && or_none) continue;
    TENON_CHECK(verify_index(item, scope.num_values, "values", "items[", i, "]"));
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
      TENON_CHECK(verify_items(scope, items));
      for (flatbuffers::uoffset_t i = 0; i < items->size(); ++i) {
        TENON_CHECK(within(verify_bool(items->Get(i)), "items[", i, "]"));
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

}  // namespace tenon::host::detail
