// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/aot/compiler/lower/operator_schema.hpp"
#include "tenon/aot/edge_description.hpp"
#include "tenon/aot/edge_program_builder.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Reads the default of a parameter: "None", "1", "1e-05", "True", "[0, 0]", "'mean'". Nothing when
/// it is not of the parameter's type.
inline std::optional<EdgeArgumentValue> parse_default(const SchemaArgument& argument,
                                                      std::string_view text) {
  if (text == "None") return std::monostate{};
  if (text == "True" || text == "False") return text == "True";
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"')) {
    return std::string(text.substr(1, text.size() - 2));
  }
  const char* const end = text.data() + text.size();
  if (text.starts_with('[')) {
    std::vector<std::int64_t> numbers;
    const char* at = text.data() + 1;
    while (at < end && *at != ']') {
      std::int64_t number = 0;
      const auto [rest, failure] = std::from_chars(at, end, number);
      if (failure != std::errc()) return std::nullopt;
      numbers.push_back(number);
      at = rest;
      while (at < end && (*at == ',' || *at == ' ')) ++at;
    }
    if (argument.type == SchemaType::Float) {
      return std::vector<double>(numbers.begin(), numbers.end());
    }
    return EdgeInts(std::move(numbers));
  }
  std::int64_t integer = 0;
  const auto [integer_end, integer_failure] = std::from_chars(text.data(), end, integer);
  if (integer_failure == std::errc() && integer_end == end) return integer;
  double real = 0;
  const auto [real_end, real_failure] = std::from_chars(text.data(), end, real);
  if (real_failure == std::errc() && real_end == end) return real;
  return std::nullopt;
}

/// Turns arguments of nodes into values of a method. `Values` finds what is known of the graph:
///
///     Result<ValueIndex> value(ValueId);   // A tensor or a number that was made before.
///     bool is_tensor(ValueId);
///     ValueIndex scalar_tensor(const EdgeArgumentValue&);  // A constant without dimensions.
///     Result<ValueIndex> tensor_of(ValueId);  // A tensor of a number that was made before.
template <class Values>
class ArgumentEmitter {
 public:
  ArgumentEmitter(MethodData& method, Values& values) : method_(method), values_(values) {}

  /// `given` is empty when the graph leaves the argument out.
  Result<ValueIndex> emit(const SchemaArgument& argument,
                          const std::optional<EdgeArgumentValue>& given) {
    EdgeArgumentValue value;
    if (given) {
      value = *given;
    } else if (argument.default_value) {
      const auto parsed = parse_default(argument, *argument.default_value);
      if (!parsed) return fail(argument, concat("default ", *argument.default_value));
      value = *parsed;
    } else if (!argument.is_optional) {
      return fail(argument, "nothing");
    }
    if (std::holds_alternative<std::monostate>(value)) {
      if (!argument.is_optional) return fail(argument, "None");
      return method_.add(std::monostate{});
    }
    return argument.is_list ? emit_list(argument, value) : emit_one(argument, value);
  }

 private:
  Result<ValueIndex> emit_one(const SchemaArgument& argument, const EdgeArgumentValue& value) {
    const auto* const ref = std::get_if<EdgeRef>(&value);
    const bool is_number = std::holds_alternative<std::int64_t>(value) ||
                           std::holds_alternative<double>(value) ||
                           std::holds_alternative<bool>(value);
    if (argument.type == SchemaType::Tensor) {
      // Exported programs may hold a number where the operator takes a tensor: x + 1.
      if (is_number) return values_.scalar_tensor(value);
      if (!ref) return fail(argument, name_of(value));
      return values_.is_tensor(ref->id) ? values_.value(ref->id) : values_.tensor_of(ref->id);
    }
    if (ref) {
      if (values_.is_tensor(ref->id)) return fail(argument, "a tensor");
      return values_.value(ref->id);
    }
    switch (argument.type) {
      case SchemaType::Scalar:
        if (is_number) return method_.add(to_value(value));
        break;
      case SchemaType::Int:
        if (const auto* integer = std::get_if<std::int64_t>(&value)) return method_.add(*integer);
        break;
      case SchemaType::Float:
        if (const auto number = as_double(value)) return method_.add(*number);
        break;
      case SchemaType::Bool:
        if (const auto* boolean = std::get_if<bool>(&value)) return method_.add(*boolean);
        break;
      case SchemaType::String:
        if (const auto* text = std::get_if<std::string>(&value)) return method_.add(*text);
        break;
      case SchemaType::ScalarType:
        return emit_enumerator(argument, value, EdgeArgumentKind::ScalarType);
      case SchemaType::Layout:
        return emit_enumerator(argument, value, EdgeArgumentKind::Layout);
      case SchemaType::MemoryFormat:
        return emit_enumerator(argument, value, EdgeArgumentKind::MemoryFormat);
      default:
        break;
    }
    return fail(argument, name_of(value));
  }

  Result<ValueIndex> emit_enumerator(const SchemaArgument& argument, const EdgeArgumentValue& value,
                                     EdgeArgumentKind kind) {
    const auto* enumerator = std::get_if<EdgeEnumerator>(&value);
    if (!enumerator || enumerator->kind != kind) return fail(argument, name_of(value));
    return method_.add(enumerator->number);
  }

  Result<ValueIndex> emit_list(const SchemaArgument& argument, const EdgeArgumentValue& value) {
    if (argument.type == SchemaType::Int) return emit_ints(argument, value);
    if (argument.type == SchemaType::Float) {
      if (const auto* reals = std::get_if<std::vector<double>>(&value)) return method_.add(*reals);
      const auto* ints = std::get_if<EdgeInts>(&value);
      if (ints && ints->symbols.empty()) {
        return method_.add(std::vector<double>(ints->integers.begin(), ints->integers.end()));
      }
    }
    if (argument.type == SchemaType::Bool) {
      if (const auto* booleans = std::get_if<std::vector<bool>>(&value)) {
        return method_.add(*booleans);
      }
    }
    if (argument.type == SchemaType::Tensor) {
      if (const auto* ids = std::get_if<std::vector<ValueId>>(&value)) {
        return emit_tensors(argument, *ids);
      }
    }
    return fail(argument, name_of(value));
  }

  Result<ValueIndex> emit_ints(const SchemaArgument& argument, const EdgeArgumentValue& value) {
    IntList list;
    if (const auto* ints = std::get_if<EdgeInts>(&value)) {
      for (std::size_t i = 0; i < ints->integers.size(); ++i) {
        const ValueId symbol = ints->symbols.empty() ? no_value : ints->symbols[i];
        TENON_TRY(const ValueIndex item, emit_int(argument, ints->integers[i], symbol));
        list.items.push_back(item);
      }
    } else if (const auto* ids = std::get_if<std::vector<ValueId>>(&value)) {
      for (const ValueId id : *ids) {
        TENON_TRY(const ValueIndex item, emit_int(argument, 0, id));
        list.items.push_back(item);
      }
    } else {
      const auto* integer = std::get_if<std::int64_t>(&value);
      const auto* ref = std::get_if<EdgeRef>(&value);
      if (argument.length == 0 || (!integer && !ref)) return fail(argument, name_of(value));
      TENON_TRY(const ValueIndex item,
                emit_int(argument, integer ? *integer : 0, ref ? ref->id : no_value));
      list.items.assign(argument.length, item);
    }
    return method_.add(std::move(list));
  }

  Result<ValueIndex> emit_int(const SchemaArgument& argument, std::int64_t integer,
                              ValueId symbol) {
    if (symbol == no_value) return method_.add(integer);
    if (values_.is_tensor(symbol)) return fail(argument, "a tensor in a list of integers");
    return values_.value(symbol);
  }

  Result<ValueIndex> emit_tensors(const SchemaArgument& argument, const std::vector<ValueId>& ids) {
    std::vector<ValueIndex> items;
    for (const ValueId id : ids) {
      if (id == no_value) {
        if (!argument.has_optional_elements) return fail(argument, "None in a list of tensors");
        items.push_back(-1);
        continue;
      }
      if (!values_.is_tensor(id)) return fail(argument, "a number in a list of tensors");
      TENON_TRY(const ValueIndex item, values_.value(id));
      items.push_back(item);
    }
    if (argument.has_optional_elements) return method_.add(OptionalTensorList{std::move(items)});
    return method_.add(TensorList{std::move(items)});
  }

  static std::optional<double> as_double(const EdgeArgumentValue& value) {
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      return static_cast<double>(*integer);
    }
    return std::nullopt;
  }

  /// Of a number or a boolean.
  static Value to_value(const EdgeArgumentValue& value) {
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* boolean = std::get_if<bool>(&value)) return *boolean;
    return std::get<std::int64_t>(value);
  }

  static std::string_view name_of(const EdgeArgumentValue& value) {
    constexpr std::string_view names[] = {"None",   "a value",  "a list of values", "a bool",
                                          "an int", "a double", "a text",           "bools",
                                          "ints",   "doubles",  "an enumerator",    "a device"};
    static_assert(std::size(names) == std::variant_size_v<EdgeArgumentValue>);
    return names[value.index()];
  }

  static Status fail(const SchemaArgument& argument, std::string_view found) {
    constexpr std::string_view names[] = {
        "a tensor",      "an int",   "a float",         "a bool",   "a number",   "a text",
        "a scalar type", "a layout", "a memory format", "a device", "a generator"};
    return error(Error::NotSupported, "argument '", argument.name, "': expected ",
                 argument.is_list ? "a list; each " : "",
                 names[static_cast<std::size_t>(argument.type)],
                 argument.is_optional ? " or None" : "", ", found ", found);
  }

  MethodData& method_;
  Values& values_;
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
