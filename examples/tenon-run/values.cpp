// SPDX-License-Identifier: MIT
#include "values.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "strided.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/quoted.hpp"
#include "tenon/host/tensor_storage.hpp"

namespace tenon::run {
namespace {

constexpr std::size_t max_shown = 8;

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::span<const tenon_value* const> elements_of(const tenon_value& list) {
  return {static_cast<const tenon_value* const*>(list.as.span.data),
          static_cast<std::size_t>(list.as.span.size)};
}

Result<ValueArray> tensor_to_array(const tenon_tensor& raw) {
  const TensorView tensor(raw);
  if (tensor.device().device_type != TENON_DL_CPU) {
    return error(Error::NotSupported, "the tensor lies on a device (DLPack device type ",
                 tensor.device().device_type, ") and cannot be read here");
  }
  ValueArray array;
  array.type = tensor.scalar_type();
  array.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
  if (tensor.nbytes() != 0 && tensor.data() == nullptr) {
    return error(Error::InvalidState, "the tensor has no data");
  }
  if (tensor.is_contiguous()) {
    array.data = {tensor.data(), tensor.nbytes()};
    return array;
  }
  array.storage = Bytes(tensor.nbytes());
  gather(array.storage.data(), tensor.data(), tensor.sizes(), tensor.strides(),
         size_of(tensor.scalar_type()));
  array.data = array.storage.span();
  return array;
}

ValueArray list_to_array(const tenon_value& value) {
  ValueArray array;
  const auto size = static_cast<std::size_t>(value.as.span.size);
  array.shape = {static_cast<std::int64_t>(size)};
  if (value.kind == TENON_VALUE_INT_LIST) {
    array.type = ScalarType::Long;
    array.storage = Bytes(size * sizeof(std::int64_t));
    for (std::size_t i = 0; i < size; ++i) {
      const std::int64_t element = elements_of(value)[i]->as.integer;
      std::memcpy(array.storage.data() + i * sizeof element, &element, sizeof element);
    }
    array.data = array.storage.span();
    return array;
  }
  array.type = value.kind == TENON_VALUE_BOOL_LIST ? ScalarType::Bool : ScalarType::Double;
  array.data = {static_cast<const std::byte*>(value.as.span.data), size * size_of(array.type)};
  return array;
}

std::string array_text(const ArrayView& array) {
  const std::size_t count = array.data.size() / std::max<std::size_t>(size_of(array.type), 1);
  std::string out;
  for (std::size_t i = 0; i < std::min(count, max_shown); ++i) {
    out += concat(i == 0 ? "" : ", ", element_text(array.type, array.data, i));
  }
  return count > max_shown ? out + ", ..." : out;
}

bool is_value_list(std::uint32_t kind) {
  return kind == TENON_VALUE_TENSOR_LIST || kind == TENON_VALUE_OPTIONAL_TENSOR_LIST ||
         kind == TENON_VALUE_SCALAR_LIST;
}

}  // namespace

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
  switch (value.kind) {
    case TENON_VALUE_TENSOR:
      return tensor_to_array(*value.as.tensor);
    case TENON_VALUE_INT:
      return ValueArray{ScalarType::Long, {}, bytes_of(value.as.integer), {}};
    case TENON_VALUE_DOUBLE:
      return ValueArray{ScalarType::Double, {}, bytes_of(value.as.real), {}};
    case TENON_VALUE_BOOL:
      return ValueArray{ScalarType::Bool, {}, bytes_of(value.as.boolean), {}};
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_DOUBLE_LIST:
    case TENON_VALUE_BOOL_LIST:
      return list_to_array(value);
    default:
      return error(Error::InvalidType, "a value of kind ", value_kind_name(value.kind),
                   " is no array; expected a tensor, a number or a list of numbers");
  }
}

Bytes to_layout(Array array, std::span<const std::uint8_t> dim_order) {
  const bool is_same = std::ranges::is_sorted(dim_order) || dim_order.size() != array.shape.size();
  if (is_same) return std::move(array.data);
  std::vector<std::int64_t> strides(array.shape.size());
  host::fill_strides(array.shape, dim_order.data(), strides.data());
  Bytes out(array.data.size());
  scatter(out.data(), array.data.data(), array.shape, strides, size_of(array.type));
  return out;
}

std::string type_text(const tenon_value& value) {
  if (value.kind == TENON_VALUE_TENSOR) {
    const TensorView tensor(*value.as.tensor);
    return concat(name_of(tensor.scalar_type()), " ", describe_shape(tensor.sizes()));
  }
  const bool is_list = value.kind >= TENON_VALUE_BOOL_LIST || value.kind == TENON_VALUE_STRING;
  if (!is_list) return std::string(value_kind_name(value.kind));
  return concat(value_kind_name(value.kind), " [", value.as.span.size, "]");
}

std::string value_text(const tenon_value& value) {
  if (value.kind == TENON_VALUE_NONE) return "None";
  if (value.kind == TENON_VALUE_STRING) {
    return host::quoted({static_cast<const char*>(value.as.span.data),
                         static_cast<std::size_t>(value.as.span.size)});
  }
  if (is_value_list(value.kind)) {
    std::string out;
    for (const tenon_value* element : elements_of(value)) {
      out += concat(out.empty() ? "" : "; ", type_text(*element), ": ", value_text(*element));
    }
    return out;
  }
  const auto array = to_array(value);
  return array.ok() ? array_text(array->view()) : std::string(array.text());
}

}  // namespace tenon::run
