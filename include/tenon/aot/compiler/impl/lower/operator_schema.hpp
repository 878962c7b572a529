// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/lower/operator_schema.hpp"

#include <charconv>
#include <cstddef>
#include <utility>

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// Reads "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) ->
/// Tensor(a!)". What is behind the parameters is not looked at.
class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : text_(text), rest_(text) {}

  Result<OperatorSchema> parse() {
    OperatorSchema out;
    const std::string_view full = take_until("(");
    const std::size_t dot = full.find('.');
    out.name = full.substr(0, dot);
    if (dot != std::string_view::npos) out.overload = full.substr(dot + 1);
    if (out.name.find("::") == std::string::npos || !take('(')) {
      return fail("a name such as aten::add.out and '('");
    }
    skip_spaces();
    bool by_name_only = false;
    while (!take(')')) {
      if (take('*')) {
        by_name_only = true;
      } else {
        TENON_TRY(SchemaArgument argument, parse_argument());
        argument.is_out = argument.is_out && by_name_only;
        out.arguments.push_back(std::move(argument));
      }
      skip_spaces();
      if (!take(',') && (rest_.empty() || rest_.front() != ')')) return fail("',' or ')'");
      skip_spaces();
    }
    return out;
  }

 private:
  Result<SchemaArgument> parse_argument() {
    SchemaArgument out;
    const std::string_view type = take_until(" ([?,)=");
    const auto known = type_of(type);
    if (!known) return fail("a type that kernels know");
    out.type = *known;
    if (take('(')) {
      out.is_out = take_until(")").find('!') != std::string_view::npos;
      if (!take(')')) return fail("')'");
    }
    // "Tensor?[]" is a list of optional tensors, "int[2]?" an optional list.
    for (;;) {
      if (take('?')) {
        out.is_optional = true;
      } else if (take('[')) {
        out.has_optional_elements = std::exchange(out.is_optional, false);
        out.is_list = true;
        const std::string_view length = take_until("]");
        std::from_chars(length.data(), length.data() + length.size(), out.length);
        if (!take(']')) return fail("']'");
      } else {
        break;
      }
    }
    skip_spaces();
    out.name = take_until(" =,;:*?()[]");
    if (out.name.empty()) return fail("a parameter's name");
    if (take('=')) out.default_value = take_default();
    return out;
  }

  static std::optional<SchemaType> type_of(std::string_view name) {
    constexpr std::pair<std::string_view, SchemaType> types[] = {
        {"Tensor", SchemaType::Tensor}, {"int", SchemaType::Int},
        {"SymInt", SchemaType::Int},    {"float", SchemaType::Float},
        {"bool", SchemaType::Bool},     {"Scalar", SchemaType::Scalar},
        {"str", SchemaType::String},    {"ScalarType", SchemaType::ScalarType},
        {"Layout", SchemaType::Layout}, {"MemoryFormat", SchemaType::MemoryFormat},
        {"Device", SchemaType::Device}, {"Generator", SchemaType::Generator},
    };
    for (const auto& [text, type] : types) {
      if (text == name) return type;
    }
    return std::nullopt;
  }

  /// Commas inside brackets and quotes belong to the value.
  std::string take_default() {
    std::size_t end = 0;
    char closing = 0;
    for (; end < rest_.size(); ++end) {
      const char c = rest_[end];
      if (closing != 0) {
        if (c == closing) closing = 0;
      } else if (c == '[') {
        closing = ']';
      } else if (c == '\'' || c == '"') {
        closing = c;
      } else if (c == ',' || c == ')') {
        break;
      }
    }
    std::string out(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return out;
  }

  std::string_view take_until(std::string_view ends) {
    const std::string_view out = rest_.substr(0, rest_.find_first_of(ends));
    rest_.remove_prefix(out.size());
    return out;
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_spaces() {
    while (take(' ')) continue;
  }
  Status fail(std::string_view expected) const {
    return error(Error::InvalidArgument, "schema '", text_, "': expected ", expected, " at '",
                 rest_.substr(0, 24), "'");
  }

  std::string_view text_;
  std::string_view rest_;
};

}  // namespace detail

Result<OperatorSchema> parse_operator_schema(std::string_view text) {
  return detail::SchemaParser(text).parse();
}

}}}  // namespace tenon::TENON_RELEASE::aot
