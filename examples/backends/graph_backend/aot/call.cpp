// SPDX-License-Identifier: MIT
#include "aot/call.hpp"

namespace graph_backend {

using tenon::Error;
using tenon::Result;
using tenon::Status;
using tenon::aot::EdgeArgument;

namespace {

/// The argument, unless it is left out or None.
std::optional<EdgeArgument> given(const tenon::aot::EdgeNode& node, std::string_view name) {
  const auto argument = node.find(name);
  return argument && !argument->is_none() ? argument : std::nullopt;
}

}  // namespace

Status Call::misfit(std::string_view name, std::string_view expected) const {
  const auto argument = node_.find(name);
  return error(Error::NotSupported, "argument '", name, "': expected ", expected, ", found ",
               argument ? name_of(argument->kind()) : std::string_view("none"));
}

Result<TensorId> Call::tensor(std::string_view name) const {
  TENON_TRY(const auto found, optional_tensor(name));
  if (!found) return misfit(name, "a tensor");
  return *found;
}

Result<std::optional<TensorId>> Call::optional_tensor(std::string_view name) const {
  const auto argument = given(node_, name);
  if (!argument) return std::optional<TensorId>();
  const auto value = argument->value();
  if (!value) return misfit(name, "a tensor");
  TENON_TRY(const TensorId id, builder_.tensor(*value));
  return std::optional(id);
}

Result<TensorId> Call::tensor_or_scalar(std::string_view name) const {
  const auto argument = given(node_, name);
  if (argument && argument->number()) {
    return builder_.scalar(static_cast<float>(*argument->number()));
  }
  return tensor(name);
}

Result<std::vector<TensorId>> Call::tensors(std::string_view name) const {
  const auto argument = given(node_, name);
  const auto values = argument ? argument->values() : std::nullopt;
  if (!values) return misfit(name, "tensors");
  std::vector<TensorId> out;
  for (const auto value : *values) {
    if (value == tenon::aot::no_value) return misfit(name, "tensors without None among them");
    TENON_TRY(const TensorId id, builder_.tensor(value));
    out.push_back(id);
  }
  return out;
}

Result<double> Call::number(std::string_view name, double initial) const {
  const auto argument = given(node_, name);
  if (!argument) return initial;
  const auto number = argument->number();
  if (!number) return misfit(name, "a number");
  return *number;
}

Result<std::int64_t> Call::integer(std::string_view name,
                                   std::optional<std::int64_t> initial) const {
  const auto argument = given(node_, name);
  if (!argument && initial) return *initial;
  const auto integer = argument ? argument->integer() : std::nullopt;
  if (!integer) return misfit(name, "an integer");
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

Result<blob::Pair> Call::pair(std::string_view name, std::int64_t initial) const {
  TENON_TRY(const auto values, integers(name, {initial}));
  if (values.empty() || values.size() > 2) return misfit(name, "one or two integers");
  for (const std::int64_t value : values) {
    if (value < 0 || value > Shape::max_size) {
      return error(Error::NotSupported, "argument '", name, "': expected 0 to ", Shape::max_size,
                   ", found ", value);
    }
  }
  return blob::Pair(static_cast<std::int32_t>(values.front()),
                    static_cast<std::int32_t>(values.back()));
}

Result<std::uint8_t> Call::dim(std::int64_t number, TensorId tensor) const {
  const auto rank = static_cast<std::int64_t>(builder_.operand(tensor).shape.rank());
  const std::int64_t dim = number < 0 ? number + rank : number;
  if (dim < 0 || dim >= rank) {
    return error(Error::NotSupported, "dimension ", number, " of a tensor with ", rank);
  }
  return static_cast<std::uint8_t>(dim);
}

Status Call::expect_none(std::string_view name) const {
  return given(node_, name) ? misfit(name, "None") : tenon::ok();
}

}  // namespace graph_backend
