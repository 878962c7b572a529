// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon {

/// Value of an option. The order of the alternatives is that of TENON_OPTION_..., from 1.
using OptionValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::byte>>;

/// Name of an option type, as errors spell it.
[[nodiscard]] constexpr std::string_view option_type_name(std::uint32_t type) noexcept {
  switch (type) {
    case TENON_OPTION_BOOL:
      return "bool";
    case TENON_OPTION_INT:
      return "int64";
    case TENON_OPTION_DOUBLE:
      return "double";
    case TENON_OPTION_STRING:
      return "string";
    case TENON_OPTION_BYTES:
      return "bytes";
    default:
      return "?";
  }
}

template <class Value = OptionValue>
[[nodiscard]] std::uint32_t option_type(const std::type_identity_t<Value>& value) noexcept {
  return static_cast<std::uint32_t>(value.index()) + 1;
}

/// Copies a value off the boundary. Fails with InvalidType when the type number is unknown, with
/// InvalidArgument when text or bytes have a size and no address.
///
/// `Value` is no choice: functions of an OptionValue are templates, so that only those who call
/// them compile a std::variant, which is several hundred functions.
template <class Value = OptionValue>
[[nodiscard]] Result<Value> read_option(const tenon_option& option) {
  const bool has_span = option.type == TENON_OPTION_STRING || option.type == TENON_OPTION_BYTES;
  const tenon_span span = has_span ? option.as.span : tenon_span{};
  const auto size = static_cast<std::size_t>(span.size);
  if (!span.data && size != 0) {
    return error(Error::InvalidArgument, "option '", std::string_view(option.key), "': ", size,
                 " bytes at no address");
  }
  switch (option.type) {
    case TENON_OPTION_BOOL:
      return Value(option.as.boolean != 0);
    case TENON_OPTION_INT:
      return Value(option.as.integer);
    case TENON_OPTION_DOUBLE:
      return Value(option.as.real);
    case TENON_OPTION_STRING:
      return Value(std::string(static_cast<const char*>(span.data), size));
    case TENON_OPTION_BYTES: {
      const auto* first = static_cast<const std::byte*>(span.data);
      return Value(std::vector<std::byte>(first, first + size));
    }
    default:
      return error(Error::InvalidType, "option '", std::string_view(option.key),
                   "': unknown type number ", option.type);
  }
}

/// Presents a value to the other side of the boundary. Refers to `key` and `value`.
template <class Value = OptionValue>
[[nodiscard]] tenon_option write_option(const char* key,
                                        const std::type_identity_t<Value>& value) noexcept {
  tenon_option option{};
  option.struct_size = sizeof option;
  option.type = option_type(value);
  option.key = key;
  switch (option.type) {
    case TENON_OPTION_BOOL:
      option.as.boolean = std::get<0>(value) ? 1 : 0;
      break;
    case TENON_OPTION_INT:
      option.as.integer = std::get<1>(value);
      break;
    case TENON_OPTION_DOUBLE:
      option.as.real = std::get<2>(value);
      break;
    case TENON_OPTION_STRING:
      option.as.span = {std::get<3>(value).data(), std::get<3>(value).size()};
      break;
    default:
      option.as.span = {std::get<4>(value).data(), std::get<4>(value).size()};
      break;
  }
  return option;
}

}  // namespace tenon
