// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "tenon/abi/tensor.h"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/impl/method/device_space.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/impl/method/planned_buffers.hpp"
#include "tenon/host/loader/impl/program/flatbuffer_root.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"
#include "tenon/host/loader/program/program_view.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Builds the values of one method in an arena: once, at load. Relies on what was verified when the
/// program was opened, and checks only what depends on this load: memory and external data.
class ValueBuilder {
 public:
  ValueBuilder(const ProgramView& program, const schema::ExecutionPlan& plan,
               const PlannedBuffers& planned, Loading& loading)
      : program_(program),
        plan_(plan),
        arena_(loading.method.arena),
        planned_(planned),
        loading_(loading) {}

  [[nodiscard]] Result<std::span<tenon_value>> build() {
    const auto& serialized = *plan_.values();
    auto* values = arena_.allocate_list<tenon_value>(serialized.size());
    if (!values) return no_memory();
    values_ = {values, serialized.size()};
    for (flatbuffers::uoffset_t i = 0; i < serialized.size(); ++i) {
      if (Status built = build_one(*serialized.Get(i), values_[i]); !built.ok()) {
        return std::move(built).with_context(concat("value ", i));
      }
    }
    return values_;
  }

 private:
  using Kind = schema::KernelTypes;

  static Status no_memory() {
    return error(Error::MemoryAllocationFailed, "no memory for the values of the method");
  }

  Status build_one(const schema::EValue& from, tenon_value& to) {
    to = {};
    to.struct_size = sizeof to;
    switch (from.val_type()) {
      case Kind::Int:
        to.kind = TENON_VALUE_INT;
        to.as.integer = from.val_as_Int()->int_val();
        return ok();
      case Kind::Bool:
        to.kind = TENON_VALUE_BOOL;
        to.as.boolean = from.val_as_Bool()->bool_val() ? 1 : 0;
        return ok();
      case Kind::Double:
        to.kind = TENON_VALUE_DOUBLE;
        to.as.real = from.val_as_Double()->double_val();
        return ok();
      case Kind::String: {
        const auto& text = *from.val_as_String()->string_val();
        to.kind = TENON_VALUE_STRING;
        to.as.span = {text.data(), text.size()};
        return ok();
      }
      case Kind::BoolList: {
        const auto& items = *from.val_as_BoolList()->items();
        to.kind = TENON_VALUE_BOOL_LIST;
        to.as.span = {items.data(), items.size()};
        return ok();
      }
      case Kind::DoubleList: {
        const auto& items = *from.val_as_DoubleList()->items();
        to.kind = TENON_VALUE_DOUBLE_LIST;
        to.as.span = {items.data(), items.size()};
        return ok();
      }
      case Kind::IntList:
        return build_list(*from.val_as_IntList()->items(), TENON_VALUE_INT_LIST, to);
      case Kind::TensorList:
        return build_list(*from.val_as_TensorList()->items(), TENON_VALUE_TENSOR_LIST, to);
      case Kind::OptionalTensorList:
        return build_list(*from.val_as_OptionalTensorList()->items(),
                          TENON_VALUE_OPTIONAL_TENSOR_LIST, to);
      case Kind::Tensor:
        return build_tensor(*from.val_as_Tensor(), to);
      default:
        to.kind = TENON_VALUE_NONE;
        return ok();
    }
  }

  template <class Items>
  Status build_list(const Items& items, std::uint32_t kind, tenon_value& to) {
    auto* elements = arena_.allocate_list<const tenon_value*>(items.size());
    if (!elements) return no_memory();
    for (flatbuffers::uoffset_t i = 0; i < items.size(); ++i) {
      // -1 in an optional list means that there is no tensor (ExecuTorch: parseListOptionalType).
      elements[i] = items.Get(i) < 0 ? none() : &values_[static_cast<std::size_t>(items.Get(i))];
    }
    to.kind = kind;
    to.as.span = {elements, items.size()};
    return ok();
  }

  static const tenon_value* none() {
    static constexpr tenon_value value = {sizeof(tenon_value), TENON_VALUE_NONE, {}};
    return &value;
  }

  Status build_tensor(const schema::Tensor& from, tenon_value& to) {
    const auto& stored_sizes = *from.sizes();
    const auto rank = stored_sizes.size();
    const bool is_static = from.shape_dynamism() == schema::TensorShapeDynamism::STATIC;
    auto* tensor = arena_.allocate_list<tenon_tensor>(1);
    auto* sizes = arena_.allocate_list<std::int64_t>((is_static ? 2 : 3) * std::size_t{rank});
    if (!tensor || !sizes) return no_memory();
    std::int64_t* const strides = sizes + rank;
    std::int64_t* const bounds = is_static ? sizes : strides + rank;
    std::uint64_t count = 1;
    for (flatbuffers::uoffset_t d = 0; d < rank; ++d) {
      const std::int64_t size = stored_sizes.Get(d);
      sizes[d] = bounds[d] = size;
      count *= static_cast<std::uint64_t>(size);
    }
    const std::uint8_t* dim_order = from.dim_order()->data();
    fill_strides({sizes, rank}, dim_order, strides);

    const auto& info = scalar_types[static_cast<std::size_t>(from.scalar_type())];
    const std::uint64_t nbytes = count * info.size;
    *tensor = {};
    tensor->struct_size = sizeof *tensor;
    tensor->scalar_type = static_cast<std::int32_t>(from.scalar_type());
    tensor->dl.device = device_tag(from);
    tensor->dl.ndim = static_cast<std::int32_t>(rank);
    tensor->dl.dtype = info.dl;
    tensor->dl.shape = sizes;
    tensor->dl.strides = strides;
    tensor->dim_order = dim_order;
    tensor->bounds = bounds;
    tensor->nbytes = nbytes;
    tensor->capacity = nbytes;
    tensor->shape_dynamism = static_cast<std::uint32_t>(from.shape_dynamism());
    to.kind = TENON_VALUE_TENSOR;
    to.as.tensor = tensor;
    return place(from, *tensor);
  }

  /// The device that the program names for the tensor.
  static tenon_dl_device device_tag(const schema::Tensor& from) noexcept {
    const auto* extra = from.extra_tensor_info();
    return extra ? dl_device(extra->device_type(), extra->device_index()) : cpu_device;
  }

  /// A tensor is on the device of its storage, whatever its tag says: ExecuTorch's exporter also
  /// tags tensors whose memory it leaves on the CPU (enable_non_cpu_memory_planning = False), and a
  /// constant is mapped from the file. A buffer on a device holds tensors of that device only.
  static Status set_device(tenon_tensor& tensor, tenon_dl_device device) {
    const tenon_dl_device tag = tensor.dl.device;
    tensor.dl.device = device;
    if (is_cpu(device) || is_same_device(tag, device)) return ok();
    return error(Error::InvalidProgram, "the tensor is on ", device_name(tag),
                 ", but its planned buffer on ", device_name(device));
  }

  /// Finds the tensor's bytes: in the plan, the program, or a layer (ExecuTorch:
  /// getTensorDataPtr, runtime/executor/tensor_parser_exec_aten.cpp). A tensor without any gets
  /// them when it is set as an input or output.
  Status place(const schema::Tensor& from, tenon_tensor& tensor) {
    const auto* plan = from.allocation_info();
    const auto* extra = from.extra_tensor_info();
    const bool external = extra && extra->location() == schema::TensorDataLocation::EXTERNAL;
    tenon_dl_device device = cpu_device;
    if (plan) {
      device = planned_.device(plan->memory_id());
      TENON_RETURN_IF_ERROR(set_device(tensor, device));
      const std::uint64_t offset =
          (std::uint64_t{plan->memory_offset_high()} << 32) | plan->memory_offset_low();
      tensor.dl.data = planned_.at(plan->memory_id(), offset);
      tensor.flags |= TENON_TENSOR_MEMORY_PLANNED;
    }
    std::span<const std::byte> initial;
    if (external) {
      TENON_TRY(initial, external_data(from, tensor.nbytes));
    } else if (from.data_buffer_idx() == 0) {
      return ok();
    } else if (plan) {
      const std::uint64_t segments = extra ? extra->mutable_data_segments_idx() : 0;
      TENON_TRY(initial, program_.mutable_data(segments, from.data_buffer_idx(), tensor.nbytes));
    } else {
      TENON_TRY(initial, program_.constant_data(from.data_buffer_idx(), tensor.nbytes));
    }
    if (!is_cpu(device)) {
      TENON_RETURN_IF_ERROR(planned_.devices().copy(device, tensor.dl.data, cpu_device,
                                                    initial.data(), initial.size()));
    } else if (plan) {
      if (!initial.empty()) std::memcpy(tensor.dl.data, initial.data(), initial.size());
    } else {
      // A constant: mapped read-only, and marked so that nothing writes to it.
      TENON_RETURN_IF_ERROR(set_device(tensor, cpu_device));
      tensor.dl.data = const_cast<std::byte*>(initial.data());
      tensor.flags |= TENON_TENSOR_CONSTANT;
    }
    return ok();
  }

  Result<std::span<const std::byte>> external_data(const schema::Tensor& from,
                                                   std::uint64_t nbytes) const {
    const std::string_view name = from.extra_tensor_info()->fully_qualified_name()->string_view();
    TENON_TRY(const std::span<const std::byte> found, find_external(from, name));
    if (found.size() < nbytes) {
      return error(Error::InvalidExternalData, "external tensor '", name, "': expected ", nbytes,
                   " bytes, found ", found.size());
    }
    const std::size_t size = scalar_types[static_cast<std::size_t>(from.scalar_type())].size;
    const bool copied = from.allocation_info() != nullptr;
    if (!copied && reinterpret_cast<std::uintptr_t>(found.data()) % size != 0) {
      return error(Error::InvalidExternalData, "external tensor '", name,
                   "': its bytes are not aligned to ", size);
    }
    return found.first(static_cast<std::size_t>(nbytes));
  }

  Result<std::span<const std::byte>> find_external(const schema::Tensor& from,
                                                   std::string_view name) const {
    for (const auto& part : loading_.method.parts) {
      TENON_TRY(const auto found, part->find_external(loading_, name, from));
      if (found) return *found;
    }
    return error(Error::InvalidExternalData, "external tensor '", name,
                 "': no data file was given");
  }

  const ProgramView& program_;
  const schema::ExecutionPlan& plan_;
  Arena& arena_;
  const PlannedBuffers& planned_;
  Loading& loading_;
  std::span<tenon_value> values_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
