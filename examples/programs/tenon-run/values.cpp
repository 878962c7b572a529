// SPDX-License-Identifier: MIT
#include "values.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tenon/core/args.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/layers/arrays/element.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon::run {
namespace {

constexpr std::size_t max_shown = 8;
constexpr std::size_t max_values_shown = 64;

bool is_value_list(std::uint32_t kind) {
  return kind == TENON_VALUE_TENSOR_LIST || kind == TENON_VALUE_OPTIONAL_TENSOR_LIST ||
         kind == TENON_VALUE_SCALAR_LIST;
}

// The first elements of a tensor, a number, or a list of numbers.
std::string elements_text(const tenon_value& value, std::uint64_t& left) {
  const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(max_shown, left));
  // One more shows whether there are more.
  const auto array = host::first_elements(value, most + 1);
  if (!array.ok()) return std::string(array.text());
  const std::size_t count = array->data.size() / std::max<std::size_t>(size_of(array->type), 1);
  std::string out;
  for (std::size_t i = 0; i < std::min(count, most); ++i) {
    out += concat(i == 0 ? "" : ", ", host::element_text(array->type, array->data, i));
  }
  left -= std::min(count, most);
  if (count <= most) return out;
  return out + (out.empty() ? "..." : ", ...");
}

}  // namespace

std::string type_text(const tenon_value& value) {
  if (value.kind == TENON_VALUE_TENSOR) {
    const TensorView tensor(*value.as.tensor);
    return concat(name_of(tensor.scalar_type()), " ", shape_text(tensor.sizes()));
  }
  const bool is_list = value.kind >= TENON_VALUE_BOOL_LIST || value.kind == TENON_VALUE_STRING;
  if (!is_list) return std::string(value_kind_name(value.kind));
  return concat(value_kind_name(value.kind), " [", value.as.span.size, "]");
}

std::string value_text(const tenon_value& value, std::uint64_t& left) {
  if (value.kind == TENON_VALUE_NONE) return "None";
  if (value.kind == TENON_VALUE_STRING) {
    if (left == 0) return "...";
    --left;
    return host::quoted({static_cast<const char*>(value.as.span.data),
                         static_cast<std::size_t>(value.as.span.size)});
  }
  if (!is_value_list(value.kind)) return elements_text(value, left);
  std::string out;
  const auto elements = host::elements_of(value);
  std::size_t shown = 0;
  for (; shown < std::min(elements.size(), max_values_shown) && left != 0; ++shown) {
    const tenon_value& element = *elements[shown];
    const std::uint64_t before = left;
    // A MoveCall can put a list into a list, also into itself; neither means anything.
    out += concat(out.empty() ? "" : "; ", type_text(element), ": ",
                  is_value_list(element.kind) ? "(a list in a list)" : value_text(element, left));
    if (left == before) --left;  // An element without numbers is text as well.
  }
  if (shown == elements.size()) return out;
  return out + (out.empty() ? "..." : "; ...");
}

}  // namespace tenon::run
