// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/binary/plugin_record.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/registry/near_names.hpp"

namespace tenon::host::detail {

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

  /// An object. Parses without exceptions, and notes keys that are written twice: of those the last
  /// would count, which a reader who sees the first does not expect. What is nested too deep is not
  /// built: functions that walk through a value call themselves once for each level.
  [[nodiscard]] Result<Json> parse_object(std::string_view text, int max_depth = 16) const {
    if (text.starts_with("\xef\xbb\xbf")) return wrong("", "begins with a byte order mark");
    std::vector<std::set<std::string>> open;
    std::string twice;
    bool too_deep = false;
    const Json::parser_callback_t note = [&](int depth, Json::parse_event_t event, Json& parsed) {
      const bool begins =
          event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
      if (begins && depth >= max_depth) too_deep = true;
      if (too_deep) return false;
      if (event == Json::parse_event_t::object_start) open.emplace_back();
      if (event == Json::parse_event_t::object_end && !open.empty()) open.pop_back();
      if (event == Json::parse_event_t::key && !open.empty()) {
        const auto key = parsed.get<std::string>();
        if (!open.back().insert(key).second && twice.empty()) twice = key;
      }
      return true;
    };
    try {
      Json root = Json::parse(text, note);
      if (too_deep) return wrong("", "is nested deeper than ", max_depth, " levels");
      if (!twice.empty()) return wrong("", "the key ", host::quoted(twice), " is written twice");
      if (!root.is_object()) return wrong_type("", "an object", root);
      return root;
    } catch (const Json::exception& invalid) {
      // The text begins with the library's own number in brackets, which does not help.
      std::string_view what = invalid.what();
      if (const auto bracket = what.find("] "); bracket != std::string_view::npos) {
        what.remove_prefix(bracket + 2);
      }
      // The text ends with what was read last, which may be most of the file.
      constexpr std::size_t longest = 200;
      return wrong("", "is not JSON: ", printable(what, longest));
    }
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
      const auto near = near_names(key, allowed, 1);
      return wrong(where, "unknown key ", host::quoted(key),
                   near.empty() ? std::string() : concat("; did you mean '", near[0], "'?"));
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

}  // namespace tenon::host::detail
