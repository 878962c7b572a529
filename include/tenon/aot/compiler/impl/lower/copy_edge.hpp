// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tenon/aot/edge_argument.hpp"
#include "tenon/aot/edge_description.hpp"
#include "tenon/aot/edge_value.hpp"

/// From views of one program to descriptions for the builder of another.
namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

inline EdgeTensor::Size copy_size(const EdgeSize& size) {
  return {size.min, size.max, std::string(size.expression)};
}

inline EdgeTensor copy_tensor(const EdgeValue& value) {
  EdgeTensor out;
  out.scalar_type = value.scalar_type();
  for (std::size_t i = 0; i < value.rank(); ++i) out.sizes.push_back(copy_size(value.size(i)));
  out.dim_order.assign(value.dim_order().begin(), value.dim_order().end());
  out.device = value.device();
  return out;
}

/// `map(ValueId)` is the value's number in the other program.
template <class Map>
std::vector<ValueId> map_values(std::span<const ValueId> values, const Map& map) {
  std::vector<ValueId> out;
  out.reserve(values.size());
  for (const ValueId value : values) out.push_back(value == no_value ? no_value : map(value));
  return out;
}

template <class Map>
EdgeArgumentValue copy_argument(const EdgeArgument& argument, const Map& map) {
  const tenon_edge_argument& raw = argument.raw();
  switch (argument.kind()) {
    case EdgeArgumentKind::None:
      break;
    case EdgeArgumentKind::Value:
      return EdgeRef{map(raw.as.value)};
    case EdgeArgumentKind::Values:
      return map_values(*argument.values(), map);
    case EdgeArgumentKind::Bool:
      return raw.as.boolean != 0;
    case EdgeArgumentKind::Int:
      return raw.as.integer;
    case EdgeArgumentKind::Double:
      return raw.as.real;
    case EdgeArgumentKind::String:
      return std::string(raw.as.string);
    case EdgeArgumentKind::Bools: {
      const auto booleans = *argument.booleans();
      return std::vector<bool>(booleans.begin(), booleans.end());
    }
    case EdgeArgumentKind::Ints: {
      const auto integers = argument.mixed_integers();
      return EdgeInts({integers.begin(), integers.end()}, map_values(argument.symbols(), map));
    }
    case EdgeArgumentKind::Doubles: {
      const auto doubles = *argument.doubles();
      return std::vector<double>(doubles.begin(), doubles.end());
    }
    case EdgeArgumentKind::ScalarType:
    case EdgeArgumentKind::Layout:
    case EdgeArgumentKind::MemoryFormat:
      return EdgeEnumerator{argument.kind(), raw.as.integer};
    case EdgeArgumentKind::Device:
      return raw.as.device;
  }
  return std::monostate{};
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
