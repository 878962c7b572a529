// SPDX-License-Identifier: MIT
#include "aot/call.hpp"

#include <array>
#include <charconv>

namespace openvino_backend {

Result<Output> Call::tensor(std::string_view name) const {
  TENON_TRY(const auto value, EdgeCall::tensor(name));
  return builder_.tensor(value);
}

Result<std::optional<Output>> Call::optional_tensor(std::string_view name) const {
  TENON_TRY(const auto value, EdgeCall::optional_tensor(name));
  if (!value) return std::optional<Output>();
  TENON_TRY(const Output output, builder_.tensor(*value));
  return std::optional(output);
}

Result<Output> Call::operand(std::string_view name, ScalarType dtype) const {
  const auto argument = node().find(name);
  const auto number = argument ? argument->number() : std::nullopt;
  if (number) return builder_.scalar(*number, dtype);
  const auto value = argument ? argument->value() : std::nullopt;
  if (!value) return refuse_argument(name, "a tensor or a number");
  if (program().value(*value).is_tensor()) {
    TENON_TRY(const Output output, builder_.tensor(*value));
    return builder_.convert(output, dtype);
  }
  TENON_TRY(const Output output, builder_.symbol(*value));
  // Without its dimension, so that the result of an operation keeps its rank.
  const Output scalar = builder_.add(
      {.type = "Squeeze", .inputs = {output, builder_.integers({0})}, .dtype = ScalarType::Long});
  return builder_.convert(scalar, dtype);
}

Result<Output> Call::size(std::string_view name, std::int64_t initial) const {
  const auto argument = node().find(name);
  if (argument && argument->value()) return builder_.symbol(*argument->value());
  TENON_TRY(const std::int64_t known, integer(name, initial));
  return builder_.integers({known});
}

Result<Output> Call::sizes(std::string_view name) const {
  const auto argument = node().find(name);
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
