// SPDX-License-Identifier: MIT
#include "values.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tenon/core/args.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/arrays/element.hpp"
#include "tenon/host/arrays/value_array.hpp"
#include "tenon/host/files/quoted.hpp"

namespace tenon::run {
namespace {

constexpr std::size_t max_shown = 8;
constexpr std::size_t max_values_shown = 64;

bool is_value_list(std::uint32_t kind) {
  return kind == TENON_VALUE_TENSOR_LIST || kind == TENON_VALUE_OPTIONAL_TENSOR_LIST ||
         kind == TENON_VALUE_SCALAR_LIST;
}

}  // namespace

std::string array_text(const host::ArrayView& array) {
  const std::size_t count = array.data.size() / std::max<std::size_t>(size_of(array.type), 1);
  std::string out;
  for (std::size_t i = 0; i < std::min(count, max_shown); ++i) {
    out += concat(i == 0 ? "" : ", ", host::element_text(array.type, array.data, i));
  }
  return count > max_shown ? out + ", ..." : out;
}

std::string type_text(const tenon_value& value) {
  if (value.kind == TENON_VALUE_TENSOR) {
    const TensorView tensor(*value.as.tensor);
    return concat(name_of(tensor.scalar_type()), " ", shape_text(tensor.sizes()));
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
    const auto elements = host::elements_of(value);
    for (const tenon_value* element : elements.first(std::min(elements.size(), max_values_shown))) {
      // A MoveCall can put a list into a list, also into itself; neither means anything.
      out += concat(out.empty() ? "" : "; ", type_text(*element), ": ",
                    is_value_list(element->kind) ? "(a list in a list)" : value_text(*element));
    }
    return elements.size() > max_values_shown ? out + "; ..." : out;
  }
  const auto array = host::to_array(value);
  return array.ok() ? array_text(array->view()) : std::string(array.text());
}

}  // namespace tenon::run
