// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/binary/plugin_record.hpp"
#include "tenon/host/files/limits.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/registry/near_names.hpp"

namespace tenon::host::detail {

/// Builds a value from the events of nlohmann's parser. Its own builder, where a function may look
/// at the events, searches each array and object again for each of its elements. A template for the
/// reason of `TENON_ON_USE` (tenon/core/api.hpp).
template <class...>
class JsonBuilder {
 public:
  using Json = nlohmann::json;

  explicit JsonBuilder(const JsonLimits& limits) : limits_(limits) {}

  Json root;
  bool too_deep = false;
  bool too_many = false;             ///< Values. The parser was stopped.
  std::optional<std::string> twice;  ///< The first key that an object has twice.
  std::string failure;               ///< The parser's message.

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(Json::number_integer_t value) { return add(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }  // JSON has none.
  bool start_object(std::size_t) { return open(Json::value_t::object); }
  bool start_array(std::size_t) { return open(Json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception& why) {
    failure = why.what();
    return false;
  }

 private:
  bool add(Json value) {
    if (!count()) return false;
    place(std::move(value));
    return true;
  }

  bool count() {
    too_many = num_values_++ == limits_.values;
    return !too_many;
  }

  /// Null when the value is not kept.
  Json* place(Json value) {
    if (too_deep) return nullptr;
    if (open_.empty()) return &(root = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    const auto [member, is_new] = parent.emplace(key_, std::move(value));
    if (!is_new && !twice) twice = key_;
    return &*member;
  }

  bool open(Json::value_t type) {
    if (!count()) return false;
    too_deep = too_deep || open_.size() >= limits_.depth;
    Json* const value = place(Json(type));
    // The value of a key that is there twice may be of another type.
    if (value && value->type() != type) *value = Json(type);
    if (value) open_.push_back(value);
    return true;
  }

  bool close() {
    if (!too_deep) open_.pop_back();
    return true;
  }

  JsonLimits limits_;
  std::uint64_t num_values_ = 0;
  std::vector<Json*> open_;  // The last one gets the values. Their addresses do not change.
  std::string key_;
};

/// The base of readers of hand-written JSON: unknown keys and keys that are written twice are
/// errors, and every complaint is an InvalidArgument that begins with the file's name and the place
/// in it ("backends[1].tags"), and says what was expected and found.
class JsonReader {
 public:
  /// `name` is that of the file, for complaints; it is not opened. Borrowed.
  explicit JsonReader(std::string_view name) : name_(name) {}

  using Json = nlohmann::json;

  [[nodiscard]] std::string_view name() const noexcept { return name_; }

  template <class... Pieces>
  [[nodiscard]] Status wrong(std::string_view where, const Pieces&... pieces) const {
    return error(Error::InvalidArgument, name_, ": ", where, where.empty() ? "" : ": ", pieces...);
  }

  template <class...>
  [[nodiscard]] Status wrong_type(std::string_view where, std::string_view expected,
                                  const Json& found) const {
    const std::string text = found.dump(-1, ' ', true, Json::error_handler_t::replace);
    return wrong(where, "expected ", expected, ", found ", host::quoted(text));
  }

  /// An object. Keys that are written twice are an error: of those the last would count, which a
  /// reader who sees the first does not expect. What is nested too deep is not built: functions
  /// that walk through a value call themselves once for each level. Takes time and memory in
  /// proportion to the text.
  template <class...>
  [[nodiscard]] Result<Json> parse_object(std::string_view text,
                                          const JsonLimits& limits = {}) const {
    if (text.size() > limits.bytes) {
      return wrong("", "has ", text.size(), " bytes, the limit of JSON is ", limits.bytes);
    }
    if (text.starts_with("\xef\xbb\xbf")) return wrong("", "begins with a byte order mark");
    JsonBuilder<> builder(limits);
    if (!Json::sax_parse(text, &builder)) {
      if (builder.too_many) {
        return wrong("", "has more values than ", limits.values, ", the limit of JSON");
      }
      // The text begins with the library's own number in brackets, which does not help.
      std::string_view what = builder.failure;
      if (const auto bracket = what.find("] "); bracket != std::string_view::npos) {
        what.remove_prefix(bracket + 2);
      }
      // The text ends with what was read last, which may be most of the file.
      constexpr std::size_t longest = 200;
      return wrong("", "is not JSON: ", printable(what, longest));
    }
    if (builder.too_deep) return wrong("", "is nested deeper than ", limits.depth, " levels");
    if (builder.twice) {
      return wrong("", "the key ", host::quoted(*builder.twice), " is written twice");
    }
    if (!builder.root.is_object()) return wrong_type("", "an object", builder.root);
    return std::move(builder.root);
  }

  /// The name of a member for the place in an error message.
  [[nodiscard]] static std::string member(std::string_view object, std::string_view key) {
    constexpr std::size_t longest = 80;
    return concat(object, object.empty() ? "" : ".", printable(key, longest));
  }

  template <class...>
  [[nodiscard]] Status check_keys(const Json& object, std::string_view where,
                                  const std::vector<std::string>& allowed) const {
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(allowed, key) != allowed.end()) continue;
      const auto like = near_names(key, allowed, 1);
      return wrong(where, "unknown key ", host::quoted(key),
                   like.empty() ? std::string() : concat("; did you mean '", like[0], "'?"));
    }
    return ok();
  }

  [[nodiscard]] Status check_printable(const std::string& text, std::string_view where) const {
    if (text.find('\0') != std::string::npos) return wrong(where, "holds a NUL character");
    if (const Status status = check_text(text, where); !status.ok()) {
      return error(Error::InvalidArgument, name_, ": ", status.text());
    }
    return ok();
  }

  /// A printable text.
  template <class...>
  [[nodiscard]] Result<std::string> read_text(const Json& value, std::string_view where) const {
    if (!value.is_string()) return wrong_type(where, "a string", value);
    const auto& text = value.get_ref<const std::string&>();
    TENON_RETURN_IF_ERROR(check_printable(text, where));
    return text;
  }

 private:
  std::string_view name_;
};

}  // namespace tenon::host::detail
