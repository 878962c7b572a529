// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/impl/method/device_space.hpp"
#include "tenon/host/loader/method/inputs.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"
#include "tenon/host/schema/program_generated.h"

/// Setting the inputs and outputs of a method, and reading its values.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// One input of a method.
struct MethodInput {
  tenon_value* value = nullptr;
  /// The value as loaded, which `set` puts back: a MoveCall may have replaced it by another tensor,
  /// larger than the memory that was planned for the input.
  tenon_value loaded = {sizeof(tenon_value), TENON_VALUE_NONE, {}};
  bool is_aliased = false;  ///< Another value starts at the same planned address.
  bool is_set = false;
  void* planned = nullptr;               ///< Its planned address, or null.
  std::uint64_t capacity = 0;            ///< Bytes of a tensor's bounds.
  const DeviceSpace* devices = nullptr;  ///< Null on the CPU, and on a device without memory.

  /// ExecuTorch: Method::set_input. Nothing changes on failure, but for bytes of the input when a
  /// copy to a device fails.
  [[nodiscard]] Status set(const InputTensor& from) {
    if (loaded.kind != TENON_VALUE_TENSOR) return wrong_kind("Tensor");
    tenon_tensor& to = *loaded.as.tensor;
    if (static_cast<std::int32_t>(from.scalar_type) != to.scalar_type) {
      return error(Error::InvalidArgument, "expected dtype ",
                   name_of(static_cast<ScalarType>(to.scalar_type)), ", found ",
                   name_of(from.scalar_type));
    }
    const std::int64_t count = count_elements(from.sizes);
    const std::size_t size = size_of(from.scalar_type);
    std::uint64_t nbytes = 0;
    if (count < 0 || __builtin_mul_overflow(static_cast<std::uint64_t>(count), size, &nbytes)) {
      return error(Error::InvalidArgument, "sizes ", shape_text(from.sizes),
                   " are negative or too large");
    }
    if (from.bytes.size() != nbytes) {
      return error(Error::InvalidArgument, "sizes ", shape_text(from.sizes), " of dtype ",
                   name_of(from.scalar_type), ": expected ", nbytes, " bytes, found ",
                   from.bytes.size());
    }
    if (!from.bytes.data() && nbytes != 0) {
      return error(Error::InvalidArgument, "expected ", nbytes, " bytes of data, found none");
    }
    if (reinterpret_cast<std::uintptr_t>(from.bytes.data()) % size != 0) {
      return error(Error::InvalidArgument, "expected data aligned to ", size, " bytes");
    }
    const bool here = is_same_device(from.device, to.dl.device);
    const bool fits = planned != nullptr && nbytes <= capacity;
    const bool copies = fits && (is_aliased || !here);
    if (!here && nbytes <= capacity &&
        (!copies || !devices || !devices->can_copy(to.dl.device, from.device))) {
      return error(Error::InvalidArgument, "expected data on ", device_name(to.dl.device),
                   planned && devices ? " or the CPU" : "", ", found data on ",
                   device_name(from.device));
    }
    const std::uint64_t capacity_before = std::exchange(to.capacity, capacity);
    if (const Error failed = resize_tensor(to, from.sizes); failed != Error::Ok) {
      to.capacity = capacity_before;
      return error(failed, "expected sizes ",
                   to.shape_dynamism == TENON_SHAPE_STATIC ? "" : "within ",
                   shape_text(TensorView(to).bounds()), ", found ", shape_text(from.sizes));
    }
    *value = loaded;
    if (!copies) {
      to.dl.data = const_cast<std::byte*>(from.bytes.data());
      // A backend may resize each of its arguments; beyond these bytes begins memory that is not
      // the argument's.
      to.capacity = nbytes;
      return ok();
    }
    to.dl.data = planned;
    if (devices) {
      return devices->copy(to.dl.device, planned, from.device, from.bytes.data(), nbytes);
    }
    if (nbytes != 0) std::memcpy(planned, from.bytes.data(), from.bytes.size());
    return ok();
  }

  [[nodiscard]] Status set(const InputScalar& from) const {
    switch (from.index()) {
      case 0:
        return same(TENON_VALUE_INT, loaded.as.integer, std::get<0>(from));
      case 1: {
        if (loaded.kind != TENON_VALUE_DOUBLE) return wrong_kind("Double");
        const double wanted = loaded.as.real;
        const double found = std::get<1>(from);
        // Tolerances of ExecuTorch's Method::set_input.
        const bool close = (std::isnan(wanted) && std::isnan(found)) || wanted == found ||
                           std::abs(wanted - found) <= 1e-4 + std::abs(1e-5 * wanted);
        if (!close) {
          return error(Error::InvalidArgument, "expected ", wanted, " as exported, found ", found);
        }
        *value = loaded;
        return ok();
      }
      case 2:
        return same(TENON_VALUE_BOOL, loaded.as.boolean != 0, std::get<2>(from));
      default: {
        const auto size = static_cast<std::size_t>(loaded.as.span.size);
        const bool is_string = loaded.kind == TENON_VALUE_STRING;
        const auto* text = is_string ? static_cast<const char*>(loaded.as.span.data) : nullptr;
        return same(TENON_VALUE_STRING, std::string_view(text, text ? size : 0), std::get<3>(from));
      }
    }
  }

 private:
  template <class T>
  Status same(std::uint32_t kind, const T& wanted, const T& found) const {
    if (loaded.kind != kind) return wrong_kind(value_kind_name(kind));
    if (wanted != found) {
      return error(Error::InvalidArgument, "expected ", wanted, " as exported, found ", found);
    }
    *value = loaded;
    return ok();
  }

  [[nodiscard]] Status wrong_kind(std::string_view found) const {
    return error(Error::InvalidArgument, "expected a ", value_kind_name(loaded.kind), ", found a ",
                 found);
  }
};

/// Addresses at which planned tensors start, in order. In memory of `arena`; none when there is no
/// memory.
[[nodiscard]] inline std::optional<std::span<std::uintptr_t>> find_planned_addresses(
    std::span<const tenon_value> values, Arena& arena) {
  const auto is_planned = [](const tenon_value& value) {
    return value.kind == TENON_VALUE_TENSOR &&
           (value.as.tensor->flags & TENON_TENSOR_MEMORY_PLANNED) != 0;
  };
  std::size_t count = 0;
  for (const tenon_value& value : values) count += is_planned(value) ? 1 : 0;
  auto* addresses = arena.allocate_list<std::uintptr_t>(count);
  if (!addresses) return std::nullopt;
  std::uintptr_t* end = addresses;
  for (const tenon_value& value : values) {
    if (is_planned(value)) *end++ = reinterpret_cast<std::uintptr_t>(value.as.tensor->dl.data);
  }
  std::sort(addresses, addresses + count);
  return std::span(addresses, count);
}

/// The inputs of a method, in memory of `arena`. `devices` are the method's, or null. An input is
/// aliased when another tensor starts at its planned address: a static view that the exporter left
/// out as an instruction (exir/emit, memory.view) reads the input's bytes there, so they must be
/// copied there.
[[nodiscard]] inline Result<std::span<MethodInput>> find_inputs(const schema::ExecutionPlan& plan,
                                                                std::span<tenon_value> values,
                                                                const DeviceSpace* devices,
                                                                Arena& arena) {
  const auto& indices = *plan.inputs();
  auto* inputs = arena.allocate_list<MethodInput>(indices.size());
  const auto planned = find_planned_addresses(values, arena);
  if (!inputs || !planned) {
    return error(Error::MemoryAllocationFailed, "no memory for the inputs of the method");
  }
  for (flatbuffers::uoffset_t i = 0; i < indices.size(); ++i) {
    MethodInput& input = *new (&inputs[i]) MethodInput();
    input.value = &values[static_cast<std::size_t>(indices.Get(i))];
    const tenon_value& value = *input.value;
    input.loaded = value;
    if (value.kind == TENON_VALUE_NONE) input.is_set = true;
    if (value.kind != TENON_VALUE_TENSOR) continue;
    const tenon_tensor& tensor = *value.as.tensor;
    input.capacity = tensor.capacity;
    if (devices && devices->has(tensor.dl.device)) input.devices = devices;
    if ((tensor.flags & TENON_TENSOR_MEMORY_PLANNED) == 0) continue;
    input.planned = tensor.dl.data;
    const auto first = std::lower_bound(planned->begin(), planned->end(),
                                        reinterpret_cast<std::uintptr_t>(tensor.dl.data));
    input.is_aliased = planned->end() - first > 1 && first[0] == first[1];
  }
  return std::span(inputs, indices.size());
}

/// The value of a condition, or why it has none.
enum class Condition {
  is_false,
  is_true,
  wrong_kind,  ///< Neither a boolean nor a boolean CPU tensor with data.
  too_long,    ///< More bytes than the budget has left.
};

/// Value of a condition. A tensor is true when all its elements are (ExecuTorch: parse_cond_value).
/// `bytes_left` is the remaining byte budget; each examined byte reduces it.
[[nodiscard]] inline Condition read_condition(const tenon_value& value,
                                              std::uint64_t& bytes_left) noexcept {
  if (value.kind == TENON_VALUE_BOOL) {
    return value.as.boolean != 0 ? Condition::is_true : Condition::is_false;
  }
  if (value.kind != TENON_VALUE_TENSOR) return Condition::wrong_kind;
  const tenon_tensor& tensor = *value.as.tensor;
  if (tensor.scalar_type != static_cast<std::int32_t>(ScalarType::Bool)) {
    return Condition::wrong_kind;
  }
  if (tensor.dl.device.device_type != TENON_DL_CPU) return Condition::wrong_kind;
  if (tensor.nbytes == 0) return Condition::is_true;
  if (tensor.dl.data == nullptr) return Condition::wrong_kind;
  const std::uint64_t size = std::min(tensor.nbytes, bytes_left);
  const auto* const bytes = static_cast<const std::byte*>(tensor.dl.data);
  const void* const zero = std::memchr(bytes, 0, static_cast<std::size_t>(size));
  if (zero != nullptr) {
    bytes_left -= static_cast<std::uint64_t>(static_cast<const std::byte*>(zero) - bytes) + 1;
    return Condition::is_false;
  }
  bytes_left -= size;
  return size == tensor.nbytes ? Condition::is_true : Condition::too_long;
}

/// ExecuTorch: Method::set_output_data_ptr.
[[nodiscard]] inline Status set_output_bytes(tenon_value& value, std::span<std::byte> bytes,
                                             tenon_dl_device device) {
  if (value.kind != TENON_VALUE_TENSOR) {
    return error(Error::InvalidArgument, "expected a Tensor, found a ",
                 value_kind_name(value.kind));
  }
  tenon_tensor& tensor = *value.as.tensor;
  if ((tensor.flags & (TENON_TENSOR_MEMORY_PLANNED | TENON_TENSOR_CONSTANT)) != 0) {
    return error(Error::InvalidState, "is memory-planned or a constant, its place is fixed");
  }
  if (!is_same_device(device, tensor.dl.device)) {
    return error(Error::InvalidArgument, "expected bytes on ", device_name(tensor.dl.device),
                 ", found bytes on ", device_name(device));
  }
  if (bytes.size() < tensor.capacity) {
    return error(Error::InvalidArgument, "expected at least ", tensor.capacity, " bytes, found ",
                 bytes.size());
  }
  const std::size_t size = size_of(static_cast<ScalarType>(tensor.scalar_type));
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % size != 0) {
    return error(Error::InvalidArgument, "expected bytes aligned to ", size);
  }
  tensor.dl.data = bytes.data();
  return ok();
}

/// Copies the bytes of a tensor to the host, from any of `devices`, which may be null.
[[nodiscard]] inline Status read_bytes(const tenon_value& value, const DeviceSpace* devices,
                                       std::span<std::byte> to) {
  if (value.kind != TENON_VALUE_TENSOR) {
    return error(Error::InvalidArgument, "expected a Tensor, found a ",
                 value_kind_name(value.kind));
  }
  const TensorView tensor(*value.as.tensor);
  if (to.size() != tensor.nbytes()) {
    return error(Error::InvalidArgument, "expected room for ", tensor.nbytes(), " bytes, found ",
                 to.size());
  }
  if (to.empty()) return ok();
  if (!tensor.data()) return error(Error::InvalidState, "the tensor has no data");
  if (is_cpu(tensor.device())) {
    std::memcpy(to.data(), tensor.data(), to.size());
    return ok();
  }
  if (devices && devices->has(tensor.device())) {
    return devices->copy(cpu_device, to.data(), tensor.device(), tensor.data(), to.size());
  }
  return error(Error::NotSupported, "the tensor is on ", device_name(tensor.device()),
               ", which no backend of the method serves");
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
