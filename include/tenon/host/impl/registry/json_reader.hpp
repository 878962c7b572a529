// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/json.hpp"
#include "tenon/core/json_limits.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/binary/plugin_record.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/impl/registry/near_names.hpp"

namespace tenon::inline TENON_RELEASE::host::detail {

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

  [[nodiscard]] Status wrong_type(std::string_view where, std::string_view expected,
                                  const Json& found) const {
    const std::string text = found.dump(-1, ' ', true, Json::error_handler_t::replace);
    return wrong(where, "expected ", expected, ", found ", host::quoted(text));
  }

  /// An object, read by `parse_json` (tenon/core/json.hpp), which has the rules and the limits.
  [[nodiscard]] Result<Json> parse_object(std::string_view text,
                                          const JsonLimits& limits = {}) const {
    auto json = parse_json(text, limits);
    if (!json.ok()) return wrong("", json.text());
    if (!json->is_object()) return wrong_type("", "an object", *json);
    return json;
  }

  /// The name of a member for the place in an error message.
  [[nodiscard]] static std::string member(std::string_view object, std::string_view key) {
    constexpr std::size_t longest = 80;
    return concat(object, object.empty() ? "" : ".", printable(key, longest));
  }

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
  [[nodiscard]] Result<std::string> read_text(const Json& value, std::string_view where) const {
    if (!value.is_string()) return wrong_type(where, "a string", value);
    const auto& text = value.get_ref<const std::string&>();
    TENON_RETURN_IF_ERROR(check_printable(text, where));
    return text;
  }

 private:
  std::string_view name_;
};

}  // namespace tenon::inline TENON_RELEASE::host::detail
