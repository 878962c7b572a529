// SPDX-License-Identifier: MIT
//
// The one reader of JSON: of the host (manifests), the ahead-of-time compiler (archives of
// PyTorch), the conformance kit (cases, subject files, reports, its channel) and `CpuAotiBackend`
// (calls of operators). It is in core as both sides use it; `<tenon/tenon.hpp>` does not include
// it, since it needs nlohmann/json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/json_limits.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/visible.hpp"

namespace tenon::inline TENON_RELEASE {

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

}  // namespace tenon::inline TENON_RELEASE
