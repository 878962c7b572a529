// SPDX-License-Identifier: MIT
#include "aot/call.hpp"

#include <array>
#include <charconv>
#include <numeric>

namespace openvino_backend {

using tenon::Error;
using tenon::Result;
using tenon::ScalarType;
using tenon::Status;
using tenon::aot::EdgeArgument;
using tenon::aot::EdgeValue;
using tenon::aot::ValueId;

namespace {

/// The argument, unless it is left out or None.
std::optional<EdgeArgument> given(const tenon::aot::EdgeNode& node, std::string_view name) {
  const auto argument = node.find(name);
  return argument && !argument->is_none() ? argument : std::nullopt;
}

}  // namespace

bool Call::has(std::string_view name) const noexcept { return given(node_, name).has_value(); }

Status Call::misfit(std::string_view name, std::string_view expected) const {
  const auto argument = node_.find(name);
  return error(Error::NotSupported, "argument '", name, "': expected ", expected, ", found ",
               argument ? name_of(argument->kind()) : std::string_view("none"));
}

Result<Output> Call::tensor(std::string_view name) const {
  TENON_TRY(const auto found, optional_tensor(name));
  if (!found) return misfit(name, "a tensor");
  return *found;
}

Result<EdgeValue> Call::described(std::string_view name) const {
  const auto argument = given(node_, name);
  const auto value = argument ? argument->value() : std::nullopt;
  if (!value || !builder_.program().value(*value).is_tensor()) return misfit(name, "a tensor");
  return builder_.program().value(*value);
}

Result<std::optional<Output>> Call::optional_tensor(std::string_view name) const {
  const auto argument = given(node_, name);
  if (!argument) return std::optional<Output>();
  const auto value = argument->value();
  if (!value) return misfit(name, "a tensor");
  TENON_TRY(const Output output, builder_.tensor(*value));
  return std::optional(output);
}

Result<Output> Call::operand(std::string_view name, ScalarType dtype) const {
  const auto argument = given(node_, name);
  if (!argument) return misfit(name, "a tensor or a number");
  if (argument->number()) return builder_.scalar(*argument->number(), dtype);
  const auto value = argument->value();
  if (!value) return misfit(name, "a tensor or a number");
  if (builder_.program().value(*value).is_tensor()) {
    TENON_TRY(const Output output, builder_.tensor(*value));
    return builder_.convert(output, dtype);
  }
  TENON_TRY(const Output output, builder_.symbol(*value));
  // Without its dimension, so that the result of an operation keeps its rank.
  const Output number = builder_.add(
      {.type = "Squeeze", .inputs = {output, builder_.integers({0})}, .dtype = ScalarType::Long});
  return builder_.convert(number, dtype);
}

Result<std::vector<ValueId>> Call::values(std::string_view name) const {
  const auto argument = given(node_, name);
  const auto values = argument ? argument->values() : std::nullopt;
  if (!values) return misfit(name, "tensors");
  for (const ValueId value : *values) {
    if (value == tenon::aot::no_value) return misfit(name, "tensors without None among them");
  }
  return std::vector<ValueId>(values->begin(), values->end());
}

Result<double> Call::number(std::string_view name, double initial) const {
  const auto argument = given(node_, name);
  if (!argument) return initial;
  const auto number = argument->number();
  if (!number) return misfit(name, "a number that is known ahead of time");
  return *number;
}

Result<std::int64_t> Call::integer(std::string_view name,
                                   std::optional<std::int64_t> initial) const {
  const auto argument = given(node_, name);
  if (!argument && initial) return *initial;
  const auto integer = argument ? argument->integer() : std::nullopt;
  if (!integer) return misfit(name, "an integer that is known ahead of time");
  return *integer;
}

Result<bool> Call::boolean(std::string_view name, bool initial) const {
  const auto argument = given(node_, name);
  if (!argument) return initial;
  const auto boolean = argument->boolean();
  if (!boolean) return misfit(name, "a bool");
  return *boolean;
}

Result<std::vector<std::int64_t>> Call::integers(std::string_view name,
                                                 std::vector<std::int64_t> initial) const {
  const auto argument = given(node_, name);
  if (!argument) return initial;
  if (const auto one = argument->integer()) return std::vector{*one};
  // An empty list has no type of its own.
  if (argument->raw().count == 0 && argument->values()) return std::vector<std::int64_t>();
  const auto integers = argument->integers();
  if (!integers) return misfit(name, "integers that are known ahead of time");
  return std::vector<std::int64_t>(integers->begin(), integers->end());
}

Result<std::vector<std::int64_t>> Call::window(std::string_view name, std::size_t count,
                                               std::int64_t initial) const {
  TENON_TRY(auto values, integers(name, {initial}));
  if (values.size() == 1) values.resize(count, values[0]);
  if (values.size() != count) {
    return error(Error::NotSupported, "argument '", name, "': expected 1 or ", count,
                 " integers, found ", values.size());
  }
  for (const std::int64_t value : values) {
    if (value >= 0) continue;
    return error(Error::NotSupported, "argument '", name, "': expected 0 or more, found ", value);
  }
  return values;
}

Result<Output> Call::size(std::string_view name, std::int64_t initial) const {
  const auto argument = given(node_, name);
  if (argument && argument->value()) return builder_.symbol(*argument->value());
  TENON_TRY(const std::int64_t known, integer(name, initial));
  return builder_.integers({known});
}

Result<Output> Call::sizes(std::string_view name) const {
  const auto argument = given(node_, name);
  if (argument && !argument->symbols().empty()) {
    const auto symbols = argument->symbols();
    std::vector<Output> parts;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      if (symbols[i] == tenon::aot::no_value) {
        parts.push_back(builder_.integers({argument->mixed_integers()[i]}));
        continue;
      }
      TENON_TRY(const Output part, builder_.symbol(symbols[i]));
      parts.push_back(part);
    }
    if (parts.size() == 1) return parts[0];
    return builder_.add({.type = "Concat",
                         .inputs = std::move(parts),
                         .attributes = {{"axis", "0"}},
                         .dtype = ScalarType::Long});
  }
  TENON_TRY(const auto known, integers(name));
  return builder_.integers(known);
}

Result<std::int64_t> Call::dim(std::int64_t number, std::size_t rank) const {
  const auto count = static_cast<std::int64_t>(rank);
  const std::int64_t dim = number < 0 ? number + count : number;
  if (dim < 0 || dim >= count) {
    return error(Error::NotSupported, "dimension ", number, " of a tensor with ", rank);
  }
  return dim;
}

Result<std::vector<std::int64_t>> Call::dims(std::string_view name, std::size_t rank) const {
  TENON_TRY(auto out, integers(name));
  if (out.empty()) {
    out.resize(rank);
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
  for (std::int64_t& one : out) {
    TENON_TRY(one, dim(one, rank));
  }
  return out;
}

std::string list_text(const std::vector<std::int64_t>& integers) {
  std::string out;
  for (const std::int64_t one : integers) out += tenon::concat(out.empty() ? "" : ",", one);
  return out;
}

std::string number_text(double number) {
  std::array<char, 64> text{};
  // Shortest form that is read back as the same number, without a locale.
  const auto [end, failed] = std::to_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() ? std::string(text.data(), end) : std::string("0");
}

}  // namespace openvino_backend
