// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/impl/registry/json_reader.hpp"

namespace tenon::inline TENON_RELEASE::aot::detail {

/// A value inside JSON that a program wrote, and its path ("graph_module.graph.nodes[3]"). Readers
/// return the value, or an InvalidProgram that says where, what was expected and what was found.
/// Refers to the JSON, which outlives it.
class JsonAt {
 public:
  using Json = nlohmann::json;

  JsonAt(const Json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  [[nodiscard]] const Json& json() const noexcept { return *value_; }

  template <class... Pieces>
  [[nodiscard]] Status wrong(const Pieces&... pieces) const {
    return complain(Error::InvalidProgram, pieces...);
  }
  template <class... Pieces>
  [[nodiscard]] Status not_supported(const Pieces&... pieces) const {
    return complain(Error::NotSupported, pieces...);
  }
  [[nodiscard]] Status wrong_type(std::string_view expected) const {
    // Of a large value only the beginning would be shown.
    const bool is_container = value_->is_object() || value_->is_array();
    const std::string found =
        is_container ? concat("an ", value_->type_name(), " of ", value_->size())
                     : host::quoted(value_->dump(-1, ' ', true, Json::error_handler_t::replace));
    return wrong("expected ", expected, ", found ", found);
  }

  /// A member of an object; one that is null counts as missing.
  [[nodiscard]] Result<JsonAt> member(std::string_view key) const {
    if (!value_->is_object()) return wrong_type("an object");
    const auto found = value_->find(key);
    if (found == value_->end() || found->is_null())
      return wrong("has no member ", host::quoted(key));
    return JsonAt(*found, member_path(key));
  }
  /// Nothing when it is missing or null.
  [[nodiscard]] std::optional<JsonAt> find(std::string_view key) const {
    if (!value_->is_object()) return std::nullopt;
    const auto found = value_->find(key);
    if (found == value_->end() || found->is_null()) return std::nullopt;
    return JsonAt(*found, member_path(key));
  }
  /// The member of an object that has one, as PyTorch writes a tagged union, and its name.
  [[nodiscard]] Result<std::pair<std::string, JsonAt>> only_member() const {
    if (!value_->is_object() || value_->size() != 1) return wrong_type("an object with one member");
    const auto found = value_->begin();
    return std::pair(found.key(), JsonAt(found.value(), member_path(found.key())));
  }

  [[nodiscard]] Status check_object() const {
    return value_->is_object() ? ok() : wrong_type("an object");
  }
  [[nodiscard]] Status check_array() const {
    return value_->is_array() ? ok() : wrong_type("an array");
  }
  /// Of an array.
  [[nodiscard]] std::size_t size() const noexcept { return value_->size(); }
  /// Element of an array, below `size()`.
  [[nodiscard]] JsonAt operator[](std::size_t index) const {
    return JsonAt((*value_)[index], concat(where_, "[", index, "]"));
  }

  [[nodiscard]] Result<std::int64_t> integer() const {
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
    if (!value_->is_number_integer() ||
        (value_->is_number_unsigned() && value_->get<std::uint64_t>() > largest)) {
      return wrong_type("an integer of 64 bits");
    }
    return value_->get<std::int64_t>();
  }
  /// A number, or a text with which PyTorch writes infinity and NaN.
  [[nodiscard]] Result<double> real() const {
    if (value_->is_number()) return value_->get<double>();
    if (*value_ == "Infinity") return std::numeric_limits<double>::infinity();
    if (*value_ == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (*value_ == "NaN") return std::numeric_limits<double>::quiet_NaN();
    return wrong_type("a number");
  }
  [[nodiscard]] Result<bool> boolean() const {
    if (!value_->is_boolean()) return wrong_type("true or false");
    return value_->get<bool>();
  }
  /// A text without NUL characters: it becomes one that ends with a NUL.
  [[nodiscard]] Result<std::string> text() const {
    if (!value_->is_string()) return wrong_type("a text");
    const auto& text = value_->get_ref<const std::string&>();
    if (text.find('\0') != std::string::npos) return wrong("holds a NUL character");
    return text;
  }
  /// Text of the member `key`.
  [[nodiscard]] Result<std::string> text(std::string_view key) const {
    TENON_TRY(const JsonAt found, member(key));
    return found.text();
  }

 private:
  [[nodiscard]] std::string member_path(std::string_view key) const {
    return host::detail::JsonReader::member(where_, key);
  }
  template <class... Pieces>
  [[nodiscard]] Status complain(Error code, const Pieces&... pieces) const {
    return error(code, where_, where_.empty() ? "" : ": ", pieces...);
  }

  const Json* value_;
  std::string where_;
};

}  // namespace tenon::inline TENON_RELEASE::aot::detail
