// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/span.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/executorch/error.hpp"
#include "tenon/host/plugin/backend.hpp"

/// Options, translated. ExecuTorch's are bool, 32-bit int and text of up to 255 bytes; a plugin
/// declares bool, int64, double, string and bytes. Values that ExecuTorch cannot hold are text:
/// "0.5" for a double, "5000000000" for an integer beyond 32 bits.
namespace tenon::inline TENON_RELEASE::bridge::adapter {

using OptionText = std::array<char, et::kMaxOptionValueLength>;

/// The key of an option of ExecuTorch, which may lack its terminator.
///
/// errors: InvalidArgument.
inline Result<std::string> option_key(const et::BackendOption& option) {
  const auto* const end = std::find(option.key, option.key + sizeof option.key, '\0');
  if (end == option.key || end == option.key + sizeof option.key) {
    return error(Error::InvalidArgument, "the key of an option has ", end - option.key,
                 " bytes, expected 1 to ", sizeof option.key - 1);
  }
  return std::string(option.key, end);
}

/// The whole of `text` as a number; nothing when it is not one.
template <class Number>
std::optional<Number> parse_number(std::string_view text) noexcept {
  Number out{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

/// `option` as a value of the type that `like` has. A value that cannot be converted is unchanged,
/// so that the plugin refuses it with its own message.
inline OptionValue option_value(const et::BackendOption& option, const OptionValue* like) {
  const std::uint32_t wanted = like ? like->type() : 0;
  if (const bool* value = std::get_if<bool>(&option.value)) return *value;
  if (const int* value = std::get_if<int>(&option.value)) {
    if (wanted == TENON_OPTION_DOUBLE) return static_cast<double>(*value);
    return static_cast<std::int64_t>(*value);
  }
  const auto& chars = std::get<OptionText>(option.value);
  const std::string_view text(chars.data(), ::strnlen(chars.data(), chars.size()));
  if (wanted == TENON_OPTION_DOUBLE) {
    if (const auto number = parse_number<double>(text)) return *number;
  } else if (wanted == TENON_OPTION_INT) {
    if (const auto number = parse_number<std::int64_t>(text)) return *number;
  } else if (wanted == TENON_OPTION_BYTES) {
    const auto bytes = std::as_bytes(std::span(text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }
  return std::string(text);
}

/// Writes `value` into an option of ExecuTorch, whose key stays.
///
/// errors: InvalidArgument for text that does not fit.
inline Status fill_option(const OptionValue& value, et::BackendOption& out) {
  std::string text;
  if (const auto boolean = value.get<bool>()) {
    out.value = *boolean;
    return ok();
  }
  if (const auto integer = value.get<std::int64_t>()) {
    if (*integer == static_cast<int>(*integer)) {
      out.value = static_cast<int>(*integer);
      return ok();
    }
    text = concat(*integer);
  } else if (const auto real = value.get<double>()) {
    text = concat(*real);
  } else if (const auto string = value.get<std::string>()) {
    text = *string;
  } else {
    text = as_text(*OptionView(value).bytes());
  }
  OptionText chars{};
  if (text.size() >= chars.size() || text.find('\0') != std::string::npos) {
    return error(Error::InvalidArgument, "its value has ", text.size(),
                 " bytes, ExecuTorch takes at most ", chars.size() - 1, " and a NUL");
  }
  std::copy(text.begin(), text.end(), chars.begin());
  out.value = chars;
  return ok();
}

/// The options that a plugin declares.
class OptionTable {
 public:
  explicit OptionTable(std::vector<host::OptionDeclaration> declared)
      : declared_(std::move(declared)) {}

  /// The key and the value in the declared type; a value that is not declared is unchanged.
  [[nodiscard]] Result<std::pair<std::string, OptionValue>> read(
      const et::BackendOption& option) const {
    TENON_TRY(std::string key, option_key(option));
    const host::OptionDeclaration* const declaration = find(key);
    OptionValue value = option_value(option, declaration ? &declaration->initial : nullptr);
    return std::pair(std::move(key), std::move(value));
  }

  /// Checks that `set_option` may be called with this value.
  ///
  /// errors: NotFound, InvalidType, NotSupported, as TN-OPT-1 has them.
  [[nodiscard]] Status check_settable(const std::string& key, const OptionValue& value) const {
    const host::OptionDeclaration* const declaration = find(key);
    if (!declaration) return unknown(key);
    if (value.type() != declaration->initial.type()) {
      return error(Error::InvalidType, "option '", key, "': expected ",
                   option_type_name(declaration->initial.type()), ", found ",
                   option_type_name(value.type()));
    }
    if (declaration->at_runtime) return ok();
    return error(Error::NotSupported, "option '", key,
                 "' cannot be set for all loads; give it to the load of a method");
  }

 private:
  [[nodiscard]] const host::OptionDeclaration* find(std::string_view key) const noexcept {
    const auto found = std::find_if(declared_.begin(), declared_.end(),
                                    [&](const auto& each) { return each.key == key; });
    return found == declared_.end() ? nullptr : &*found;
  }

  [[nodiscard]] Status unknown(std::string_view key) const {
    std::string known;
    for (const auto& each : declared_) known += concat(known.empty() ? "" : ", ", each.key);
    return error(Error::NotFound, "option '", key, "' is unknown; the backend has ",
                 known.empty() ? std::string("no options") : known);
  }

  std::vector<host::OptionDeclaration> declared_;
};

/// The options of one load, with the values that they refer to.
class RuntimeSpecs {
 public:
  /// errors: InvalidArgument for a key without a terminator.
  [[nodiscard]] Status read(et::Span<const et::BackendOption> specs, const OptionTable& table) {
    values_.reserve(specs.size());
    for (const et::BackendOption& spec : specs) {
      TENON_TRY(auto value, table.read(spec));
      values_.push_back(std::move(value));
    }
    for (const auto& [key, value] : values_) options_.push_back(write_option(key.c_str(), value));
    return ok();
  }

  [[nodiscard]] std::span<const tenon_option> options() const noexcept { return options_; }

 private:
  std::vector<std::pair<std::string, OptionValue>> values_;
  std::vector<tenon_option> options_;
};

}  // namespace tenon::inline TENON_RELEASE::bridge::adapter
