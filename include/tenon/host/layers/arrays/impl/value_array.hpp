// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/arrays/value_array.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "tenon/core/args.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/layers/arrays/impl/strided.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

template <class T>
[[nodiscard]] std::span<const std::byte> bytes_of_value(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

inline Result<ValueArray> tensor_to_array(const tenon_tensor& raw, std::size_t count) {
  const TensorView tensor(raw);
  if (tensor.device().device_type != TENON_DL_CPU) {
    return error(Error::NotSupported, "the tensor is on a device (DLPack device type ",
                 tensor.device().device_type, ") and cannot be read here");
  }
  ValueArray array;
  array.type = tensor.scalar_type();
  array.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
  if (tensor.nbytes() != 0 && tensor.data() == nullptr) {
    return error(Error::InvalidState, "the tensor has no data");
  }
  const std::size_t item_size = std::max<std::size_t>(size_of(tensor.scalar_type()), 1);
  const std::size_t nbytes = std::min(tensor.nbytes() / item_size, count) * item_size;
  if (tensor.is_contiguous()) {
    array.data = {tensor.data(), nbytes};
    return array;
  }
  array.storage = ArrayBytes::uninitialized(nbytes);
  gather(array.storage.data(), tensor.data(), tensor.sizes(), tensor.strides(), item_size, nbytes);
  array.data = array.storage.span();
  return array;
}

inline Result<ValueArray> list_to_array(const tenon_value& value, std::size_t count) {
  ValueArray array;
  array.shape = {static_cast<std::int64_t>(value.as.span.size)};
  const std::size_t size = std::min(static_cast<std::size_t>(value.as.span.size), count);
  if (value.kind == TENON_VALUE_INT_LIST) {
    array.type = ScalarType::Long;
    array.storage = ArrayBytes::uninitialized(size * sizeof(std::int64_t));
    for (std::size_t i = 0; i < size; ++i) {
      const tenon_value& from = *elements_of(value)[i];
      if (from.kind != TENON_VALUE_INT) {
        return error(Error::InvalidType, "element ", i, ": expected an Int, found a ",
                     value_kind_name(from.kind));
      }
      const std::int64_t element = from.as.integer;
      std::memcpy(array.storage.data() + i * sizeof element, &element, sizeof element);
    }
    array.data = array.storage.span();
    return array;
  }
  array.type = value.kind == TENON_VALUE_BOOL_LIST ? ScalarType::Bool : ScalarType::Double;
  array.data = {static_cast<const std::byte*>(value.as.span.data), size * size_of(array.type)};
  return array;
}

}  // namespace detail

bool is_array_kind(std::uint32_t kind) noexcept {
  switch (kind) {
    case TENON_VALUE_TENSOR:
    case TENON_VALUE_INT:
    case TENON_VALUE_DOUBLE:
    case TENON_VALUE_BOOL:
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_DOUBLE_LIST:
    case TENON_VALUE_BOOL_LIST:
      return true;
    default:
      return false;
  }
}

Result<ValueArray> to_array(const tenon_value& value) {
  return first_elements(value, std::numeric_limits<std::size_t>::max());
}

Result<ValueArray> first_elements(const tenon_value& value, std::size_t count) {
  switch (value.kind) {
    case TENON_VALUE_TENSOR:
      return detail::tensor_to_array(*value.as.tensor, count);
    case TENON_VALUE_INT:
      return ValueArray{ScalarType::Long, {}, detail::bytes_of_value(value.as.integer), {}};
    case TENON_VALUE_DOUBLE:
      return ValueArray{ScalarType::Double, {}, detail::bytes_of_value(value.as.real), {}};
    case TENON_VALUE_BOOL:
      return ValueArray{ScalarType::Bool, {}, detail::bytes_of_value(value.as.boolean), {}};
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_DOUBLE_LIST:
    case TENON_VALUE_BOOL_LIST:
      return detail::list_to_array(value, count);
    default:
      return error(Error::InvalidType, "a value of kind ", value_kind_name(value.kind),
                   " is not an array; expected a tensor, a number or a list of numbers");
  }
}

ArrayBytes to_layout(Array array, std::span<const std::uint8_t> dim_order) {
  const bool is_same =
      std::is_sorted(dim_order.begin(), dim_order.end()) || dim_order.size() != array.shape.size();
  if (is_same) return std::move(array.data);
  std::vector<std::int64_t> strides(array.shape.size());
  fill_strides(array.shape, dim_order.data(), strides.data());
  ArrayBytes out = ArrayBytes::uninitialized(array.data.size());
  scatter(out.data(), array.data.data(), array.shape, strides, size_of(array.type));
  return out;
}

Status set_array(Method& method, std::size_t index, const ArrayView& array, ArrayBytes& copy) {
  std::span<const std::byte> bytes = array.data;
  const bool is_tensor =
      index < method.num_inputs() && method.input(index).kind == TENON_VALUE_TENSOR;
  const auto is_other_order = [&] {
    const TensorView tensor(*method.input(index).as.tensor);
    return !tensor.is_contiguous() && tensor.rank() == array.shape.size();
  };
  const std::size_t alignment = std::max<std::size_t>(size_of(array.type), 1);
  const bool is_unaligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment != 0;
  if (is_unaligned || (is_tensor && is_other_order())) {
    Array own{array.type,
              {array.shape.begin(), array.shape.end()},
              ArrayBytes::uninitialized(bytes.size())};
    if (!bytes.empty()) std::memcpy(own.data.data(), bytes.data(), bytes.size());
    copy = is_tensor && is_other_order()
               ? to_layout(std::move(own), TensorView(*method.input(index).as.tensor).dim_order())
               : std::move(own.data);
    bytes = copy.span();
  }
  return method.set_input(index, InputTensor{array.type, array.shape, bytes});
}

Result<Array> copy_output(const Method& method, std::size_t index) {
  const tenon_value& value = method.output(index);
  Array out;
  if (value.kind == TENON_VALUE_TENSOR) {
    const TensorView tensor(*value.as.tensor);
    if (tensor.device().device_type != TENON_DL_CPU) {
      if (!tensor.is_contiguous()) {
        return error(Error::NotSupported,
                     "expected elements in C order, found other strides on DLPack device type ",
                     tensor.device().device_type);
      }
      out.type = tensor.scalar_type();
      out.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
      out.data = ArrayBytes::uninitialized(tensor.nbytes());
      TENON_RETURN_IF_ERROR(method.read_output(index, {out.data.data(), out.data.size()}));
      return out;
    }
  }
  TENON_TRY(ValueArray array, to_array(value));
  out.type = array.type;
  out.shape = std::move(array.shape);
  out.data = ArrayBytes::uninitialized(array.data.size());
  if (!array.data.empty()) std::memcpy(out.data.data(), array.data.data(), array.data.size());
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::host
