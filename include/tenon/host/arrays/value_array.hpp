// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/arrays/array.hpp"

namespace tenon::host {

/// A value as an array in C order. Refers to the value's own bytes when they are in C order, else
/// to a copy.
struct ValueArray {
  ScalarType type = ScalarType::Float;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
  ArrayBytes storage;

  [[nodiscard]] ArrayView view() const noexcept { return {type, shape, data}; }
};

/// The elements of a list of values. `list` must be of such a kind.
[[nodiscard]] inline std::span<const tenon_value* const> elements_of(const tenon_value& list) {
  return {static_cast<const tenon_value* const*>(list.as.span.data),
          static_cast<std::size_t>(list.as.span.size)};
}

/// Whether `to_array` supports this kind: tensors, numbers, booleans, and lists of numbers
/// and booleans.
[[nodiscard]] TENON_API bool is_array_kind(std::uint32_t kind) noexcept;

/// The value as an array: a number is a scalar (int64, float64, bool), a list of them has rank 1.
/// InvalidType for other kinds and for a list of integers with an element that a MoveCall replaced,
/// NotSupported for a tensor on a device, InvalidState for a tensor without data.
[[nodiscard]] TENON_API Result<ValueArray> to_array(const tenon_value& value);

/// The same, but `data` holds only the first `count` elements of C order, or all when there are
/// fewer; `shape` is that of the whole value. Costs what is copied, however large the value is.
[[nodiscard]] TENON_API Result<ValueArray> first_elements(const tenon_value& value,
                                                          std::size_t count);

/// The elements of `array`, which is in C order, with its dimensions in memory in `dim_order`,
/// outermost first. Nothing is copied when that is C order as well, or when the ranks differ.
[[nodiscard]] TENON_API ArrayBytes to_layout(Array array, std::span<const std::uint8_t> dim_order);

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "tenon/core/args.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/arrays/strided.hpp"
#include "tenon/host/plugin/tensor_storage.hpp"

namespace tenon::host {

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

TENON_API bool is_array_kind(std::uint32_t kind) noexcept {
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

TENON_API Result<ValueArray> to_array(const tenon_value& value) {
  return first_elements(value, std::numeric_limits<std::size_t>::max());
}

TENON_API Result<ValueArray> first_elements(const tenon_value& value, std::size_t count) {
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

TENON_API ArrayBytes to_layout(Array array, std::span<const std::uint8_t> dim_order) {
  const bool is_same =
      std::is_sorted(dim_order.begin(), dim_order.end()) || dim_order.size() != array.shape.size();
  if (is_same) return std::move(array.data);
  std::vector<std::int64_t> strides(array.shape.size());
  fill_strides(array.shape, dim_order.data(), strides.data());
  ArrayBytes out = ArrayBytes::uninitialized(array.data.size());
  scatter(out.data(), array.data.data(), array.shape, strides, size_of(array.type));
  return out;
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
