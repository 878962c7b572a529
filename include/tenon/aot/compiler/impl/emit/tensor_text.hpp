// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/emit/tensor_text.hpp"

#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include "tenon/aot/dense_layout.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {
namespace detail {

inline constexpr std::string_view tensor_form =
    "DTYPE:SIZES or DTYPE:SIZES:dynamic, such as Float:8,16";

inline Result<ScalarType> parse_dtype(std::string_view name) {
  if (const ScalarTypeInfo* const found = find_scalar_type(name)) return found->type;
  const ScalarTypeInfo* const meant = find_torch_scalar_type(name);
  return error(Error::InvalidArgument, "unknown dtype ", host::quoted(name),
               ", expected ExecuTorch's name of one",
               meant ? concat(": ", meant->name) : std::string(", such as Float or Int"));
}

inline Result<std::int32_t> parse_size(std::string_view text) {
  std::int32_t out = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (code == std::errc() && end == text.data() + text.size() && out >= 0) return out;
  return error(Error::InvalidArgument, "expected sizes from 0 to ",
               std::numeric_limits<std::int32_t>::max(), ", found ", host::quoted(text),
               " (of a size that changes, give the largest one, and :dynamic)");
}

inline Result<TensorValue> parse_tensor_text(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3 || (parts.size() == 3 && parts[2] != "dynamic")) {
    return error(Error::InvalidArgument, "expected ", tensor_form);
  }
  TensorValue out;
  out.data = storage::Planned{};
  out.is_dynamic = parts.size() == 3;
  TENON_TRY(out.layout.scalar_type, parse_dtype(parts[0]));
  if (parts[1].empty()) {
    if (!out.is_dynamic) return out;
    return error(Error::InvalidArgument, "a scalar has no sizes that change");
  }
  for (const std::string_view size : split(parts[1], ',')) {
    TENON_TRY(const std::int32_t parsed, parse_size(size));
    out.layout.sizes.push_back(parsed);
  }
  TENON_RETURN_IF_ERROR(check_layout(out.layout));
  return out;
}

}  // namespace detail

Result<TensorValue> parse_tensor(std::string_view text) {
  auto parsed = detail::parse_tensor_text(text);
  if (parsed.ok()) return parsed;
  return std::move(parsed).status().with_context(text.empty() ? "''" : std::string(text));
}

std::string tensor_text(const TensorValue& tensor) {
  return concat(
      name_of(tensor.layout.scalar_type), ":",
      join(tensor.layout.sizes, ",", [](std::int32_t size) { return std::to_string(size); }),
      tensor.is_dynamic ? ":dynamic" : "");
}

Result<std::vector<TensorValue>> parse_tensors(std::span<const std::string> texts,
                                               std::string_view list) {
  std::vector<TensorValue> out;
  for (const std::string& text : texts) {
    auto tensor = parse_tensor(text);
    if (!tensor.ok()) return std::move(tensor).status().with_context(list);
    out.push_back(*std::move(tensor));
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::aot
