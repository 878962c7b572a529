// SPDX-License-Identifier: MIT
//
// The one reader of JSON, and the one way to look at what it read: of the host (manifests), the
// ahead-of-time compiler (archives of PyTorch), the conformance kit (cases, subject files, reports,
// its channel) and `CpuAotiBackend` (calls of operators). It is in core as both sides use it;
// `<tenon/tenon.hpp>` does not include it, since it needs nlohmann/json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/json_limits.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/visible.hpp"

namespace tenon { inline namespace TENON_RELEASE {

namespace detail {

/// Builds a value from the events of nlohmann's parser. Its own builder, where a function may look
/// at the events, searches each array and object again for each of its elements.
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

}  // namespace detail

/// A value of JSON (RFC 8259, UTF-8). A key that an object has twice is an error: of those the last
/// would count, which a reader who sees the first does not expect. What is nested too deep is not
/// built: functions that walk through a value call themselves once for each level. Takes time and
/// memory in proportion to the text.
///
/// errors: InvalidArgument, with a text to follow the name of the file: "is not JSON: ...", "the
/// key 'a' is written twice", "begins with a byte order mark", or the limit that is exceeded.
[[nodiscard]] inline Result<nlohmann::json> parse_json(std::string_view text,
                                                       const JsonLimits& limits = {}) {
  const auto wrong = [](const auto&... pieces) { return error(Error::InvalidArgument, pieces...); };
  if (text.size() > limits.bytes) {
    return wrong("has ", text.size(), " bytes, the limit of JSON is ", limits.bytes);
  }
  if (text.starts_with("\xef\xbb\xbf")) return wrong("begins with a byte order mark");
  detail::JsonBuilder builder(limits);
  if (!nlohmann::json::sax_parse(text, &builder)) {
    if (builder.too_many) {
      return wrong("has more values than ", limits.values, ", the limit of JSON");
    }
    // The text begins with the library's own number in brackets, which does not help.
    std::string_view what = builder.failure;
    if (const auto bracket = what.find("] "); bracket != std::string_view::npos) {
      what.remove_prefix(bracket + 2);
    }
    // The text ends with what was read last, which may be most of the file.
    constexpr std::size_t longest = 200;
    return wrong("is not JSON: ", detail::visible_part(what, longest));
  }
  if (builder.too_deep) return wrong("is nested deeper than ", limits.depth, " levels");
  if (builder.twice) {
    constexpr std::size_t longest = 80;
    return wrong("the key '", detail::visible_part(*builder.twice, longest), "' is written twice");
  }
  return std::move(builder.root);
}

/// A value inside JSON that may hold anything, and its place in there ("backends[1].tags").
///
/// Its readers return the value, or an error with the name of the JSON, the place, the expected and
/// the found value. Refers to the JSON and to its name, which outlive it.
class JsonAt {
 public:
  using Json = nlohmann::json;

  /// The outermost value. `name` is in front of every error, and `code` is their code. `name` is
  /// a file's, or empty.
  JsonAt(const Json& root, std::string_view name, Error code)
      : value_(&root), name_(name), code_(code) {}

  [[nodiscard]] const Json& json() const noexcept { return *value_; }
  /// The place in the JSON; empty for the outermost value.
  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  /// The name and the place.
  [[nodiscard]] std::string place() const {
    return concat(name_, name_.empty() || where_.empty() ? "" : ": ", where_);
  }

  template <class... Pieces>
  [[nodiscard]] Status wrong(const Pieces&... pieces) const {
    return complain(code_, pieces...);
  }
  template <class... Pieces>
  [[nodiscard]] Status not_supported(const Pieces&... pieces) const {
    return complain(Error::NotSupported, pieces...);
  }
  [[nodiscard]] Status wrong_type(std::string_view expected) const {
    return wrong("expected ", expected, ", found ", found_text());
  }

  /// A member of an object; nothing when it is absent. A null is a member.
  [[nodiscard]] std::optional<JsonAt> find(std::string_view key) const {
    if (!value_->is_object()) return std::nullopt;
    const auto found = value_->find(key);
    if (found == value_->end()) return std::nullopt;
    return JsonAt(*this, *found, member_place(key));
  }
  /// A member of an object; nothing when it is absent, or null as programs write what is not set.
  [[nodiscard]] std::optional<JsonAt> find_set(std::string_view key) const {
    auto found = find(key);
    return found && !found->json().is_null() ? std::move(found) : std::nullopt;
  }
  /// A member that an object must have; `expected` is for the error when it is absent.
  [[nodiscard]] Result<JsonAt> member(std::string_view key, std::string_view expected = "") const {
    TENON_RETURN_IF_ERROR(check_object());
    if (auto found = find(key)) return *std::move(found);
    return JsonAt(*this, *value_, member_place(key))
        .wrong("is missing", expected.empty() ? "" : ", expected ", expected);
  }
  /// The member of an object that has one, as PyTorch writes a tagged union, and its name.
  [[nodiscard]] Result<std::pair<std::string, JsonAt>> only_member() const {
    if (!value_->is_object() || value_->size() != 1) return wrong_type("an object with one member");
    const auto found = value_->begin();
    return std::pair(found.key(), JsonAt(*this, *found, member_place(found.key())));
  }

  [[nodiscard]] Status check_object(std::string_view expected = "an object") const {
    return value_->is_object() ? ok() : wrong_type(expected);
  }
  [[nodiscard]] Status check_array(std::string_view expected = "an array") const {
    return value_->is_array() ? ok() : wrong_type(expected);
  }
  /// The number of an array's elements.
  [[nodiscard]] std::size_t size() const noexcept { return value_->size(); }
  /// Element of an array, below `size()`.
  [[nodiscard]] JsonAt operator[](std::size_t index) const {
    return JsonAt(*this, (*value_)[index], concat(where_, "[", index, "]"));
  }
  /// Calls `read(element)`, which returns a Status, for each element of an array.
  template <class Read>
  [[nodiscard]] Status each_element(Read&& read, std::string_view expected = "an array") const {
    TENON_RETURN_IF_ERROR(check_array(expected));
    for (std::size_t i = 0; i < size(); ++i) TENON_RETURN_IF_ERROR(read((*this)[i]));
    return ok();
  }
  /// The elements of an array, each by `read(element)`, which returns a Result<T>.
  template <class T, class Read>
  [[nodiscard]] Result<std::vector<T>> list(Read&& read,
                                            std::string_view expected = "an array") const {
    TENON_RETURN_IF_ERROR(check_array(expected));
    std::vector<T> out;
    out.reserve(size());
    for (std::size_t i = 0; i < size(); ++i) {
      TENON_TRY(T item, read((*this)[i]));
      out.push_back(std::move(item));
    }
    return out;
  }
  /// Calls `read(key, value)`, which returns a Status, for each member of an object.
  template <class Read>
  [[nodiscard]] Status each_member(Read&& read, std::string_view expected = "an object") const {
    TENON_RETURN_IF_ERROR(check_object(expected));
    for (const auto& [key, value] : value_->items()) {
      TENON_RETURN_IF_ERROR(read(key, JsonAt(*this, value, member_place(key))));
    }
    return ok();
  }

  [[nodiscard]] Result<std::int64_t> integer(
      std::string_view expected = "an integer of 64 bits") const {
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
    if (!value_->is_number_integer() ||
        (value_->is_number_unsigned() && value_->get<std::uint64_t>() > largest)) {
      return wrong_type(expected);
    }
    return value_->get<std::int64_t>();
  }
  /// An integer from 0 to the largest `T`.
  template <class T = std::uint64_t>
  [[nodiscard]] Result<T> count() const {
    constexpr std::uint64_t largest{std::numeric_limits<T>::max()};
    if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() > largest) {
      const bool is_limit = largest < std::numeric_limits<std::uint64_t>::max();
      return wrong_type(is_limit ? concat("an integer from 0 to ", largest)
                                 : "an integer from 0 on");
    }
    return value_->get<T>();
  }
  [[nodiscard]] Result<double> real() const {
    if (!value_->is_number()) return wrong_type("a number");
    return value_->get<double>();
  }
  [[nodiscard]] Result<bool> boolean() const {
    if (!value_->is_boolean()) return wrong_type("true or false");
    return value_->get<bool>();
  }
  /// A text, which may hold any character. Refers to the JSON.
  [[nodiscard]] Result<std::string_view> characters() const {
    if (!value_->is_string()) return wrong_type("a text");
    return std::string_view(value_->get_ref<const std::string&>());
  }
  /// A text without NUL characters, as it becomes a text that ends with a NUL.
  [[nodiscard]] Result<std::string> text() const {
    TENON_TRY(const std::string_view found, characters());
    if (found.find('\0') != std::string_view::npos) return wrong("holds a NUL character");
    return std::string(found);
  }

  /// Text of the member `key`.
  [[nodiscard]] Result<std::string> text(std::string_view key) const {
    TENON_TRY(const JsonAt found, member(key, "a text"));
    return found.text();
  }
  /// The member `key`, which is an array.
  [[nodiscard]] Result<JsonAt> array(std::string_view key) const {
    TENON_TRY(JsonAt found, member(key, "an array"));
    TENON_RETURN_IF_ERROR(found.check_array());
    return found;
  }

 private:
  JsonAt(const JsonAt& parent, const Json& value, std::string where)
      : value_(&value), where_(std::move(where)), name_(parent.name_), code_(parent.code_) {}

  [[nodiscard]] std::string member_place(std::string_view key) const {
    return concat(where_, where_.empty() ? "" : ".", detail::visible_part(key, longest_shown));
  }
  /// A value for an error text; of a container its size, as it may be most of a file.
  [[nodiscard]] std::string found_text() const {
    if (value_->is_object() || value_->is_array()) {
      return concat("an ", value_->type_name(), " of ", value_->size());
    }
    if (!value_->is_string()) return concat("'", value_->dump(), "'");
    const auto& text = value_->get_ref<const std::string&>();
    return concat("'\"", detail::visible_part(text, longest_shown), "\"'");
  }
  template <class... Pieces>
  [[nodiscard]] Status complain(Error code, const Pieces&... pieces) const {
    const std::string at = place();
    return error(code, at, at.empty() ? "" : ": ", pieces...);
  }

  static constexpr std::size_t longest_shown = 80;  ///< Bytes of a key or a text.

  const Json* value_;
  std::string where_;
  std::string_view name_;
  Error code_;
};

/// The object that `text` is, by `parse_json`.
///
/// errors: as `parse_json` and `JsonAt`, with `name` in front and `code` in place of theirs.
[[nodiscard]] inline Result<nlohmann::json> parse_json_object(std::string_view text,
                                                              std::string_view name, Error code,
                                                              const JsonLimits& limits = {}) {
  auto json = parse_json(text, limits);
  if (!json.ok()) return error(code, name, name.empty() ? "" : ": ", json.text());
  TENON_RETURN_IF_ERROR(JsonAt(*json, name, code).check_object());
  return json;
}

}}  // namespace tenon::TENON_RELEASE
