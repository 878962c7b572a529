// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tenon/conformance/case.hpp"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/files/read_file.hpp"
#include "tenon/host/impl/registry/json_reader.hpp"

namespace tenon::inline TENON_RELEASE::conformance::detail {

/// Largest case.json or subject file that is read, in bytes.
inline constexpr std::uint64_t max_settings_size = 4 << 20;

/// The content of a settings file. AccessFailed when it cannot be read.
[[nodiscard]] Result<std::string> read_settings(const std::filesystem::path& path);

/// The common parts of case.json and subject files: tolerances, options, numbers, paths.
class SettingsReader : public host::detail::JsonReader {
 public:
  using JsonReader::JsonReader;

  /// The member, or null when it is absent.
  [[nodiscard]] static const Json* find(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }

  /// A text with at least one character that is not a blank.
  [[nodiscard]] Result<std::string> read_words(const Json& value, std::string_view where) const {
    TENON_TRY(std::string text, read_text(value, where));
    if (text.find_first_not_of(' ') == std::string::npos) {
      return wrong_type(where, "a text that is not empty", value);
    }
    return text;
  }

  [[nodiscard]] Result<bool> read_bool(const Json& value, std::string_view where) const {
    if (!value.is_boolean()) return wrong_type(where, "true or false", value);
    return value.get<bool>();
  }

  /// An integer from 0 on.
  [[nodiscard]] Result<std::uint64_t> read_count(const Json& value, std::string_view where) const {
    if (!value.is_number_unsigned()) return wrong_type(where, "an integer from 0 on", value);
    return value.get<std::uint64_t>();
  }

  [[nodiscard]] Status check_array(const Json& value, std::string_view where,
                                   std::string_view expected) const {
    return value.is_array() ? ok() : wrong_type(where, expected, value);
  }

  [[nodiscard]] Status check_object(const Json& value, std::string_view where,
                                    std::string_view expected) const {
    return value.is_object() ? ok() : wrong_type(where, expected, value);
  }

  /// A path, relative to `directory`; absolute ones are rejected, since they would name another
  /// file on another machine.
  [[nodiscard]] Result<std::filesystem::path> read_path(
      const Json& value, std::string_view where, const std::filesystem::path& directory) const {
    TENON_TRY(const std::string text, read_words(value, where));
    const std::filesystem::path path(text);
    if (path.is_absolute()) {
      return wrong_type(where, concat("a path relative to ", directory.string()), value);
    }
    return (directory / path).lexically_normal();
  }

  /// The path of an existing file.
  [[nodiscard]] Result<std::filesystem::path> read_file_path(
      const Json& value, std::string_view where, const std::filesystem::path& directory) const {
    TENON_TRY(std::filesystem::path path, read_path(value, where, directory));
    std::error_code code;
    if (!std::filesystem::is_regular_file(path, code)) {
      return wrong(where, "expected a file, found none at ", host::quoted(path.string()));
    }
    return path;
  }

  /// {"float32": {"nmse": 1e-6, "max": 1e-4}, ...}
  [[nodiscard]] Result<Tolerances> read_tolerances(const Json& value,
                                                   const std::string& where) const {
    TENON_RETURN_IF_ERROR(check_object(value, where, "an object of limits by dtype"));
    Tolerances out;
    for (const auto& [name, limits] : value.items()) {
      const std::string at = member(where, name);
      TENON_TRY(const ScalarType type, read_dtype(name, where));
      if (type == ScalarType::Bool) return wrong(at, "booleans are equal or not; no limit applies");
      TENON_RETURN_IF_ERROR(check_object(limits, at, "an object of limits"));
      TENON_RETURN_IF_ERROR(check_keys(limits, at, {"nmse", "peak", "max", "rtol", "atol"}));
      CaseTolerance tolerance;
      TENON_TRY(tolerance.nmse, read_limit(limits, at, "nmse"));
      TENON_TRY(tolerance.peak, read_limit(limits, at, "peak"));
      TENON_TRY(tolerance.max, read_limit(limits, at, "max"));
      TENON_TRY(tolerance.rtol, read_limit(limits, at, "rtol"));
      TENON_TRY(tolerance.atol, read_limit(limits, at, "atol"));
      out.set(type, tolerance);
    }
    return out;
  }

  /// {"key": true, "other": 3, "text": "x", "raw": {"bytes": "00ff"}}. A number with a point or an
  /// exponent is a double.
  [[nodiscard]] Result<std::vector<std::pair<std::string, OptionValue>>> read_options(
      const Json& value, const std::string& where) const {
    TENON_RETURN_IF_ERROR(check_object(value, where, "an object of options"));
    std::vector<std::pair<std::string, OptionValue>> out;
    for (const auto& [key, option] : value.items()) {
      TENON_RETURN_IF_ERROR(check_printable(key, concat("a key of ", where)));
      TENON_TRY(OptionValue read, read_option_value(option, member(where, key)));
      out.emplace_back(key, std::move(read));
    }
    return out;
  }

  /// `value` is an integer.
  [[nodiscard]] Result<std::int64_t> read_int64(const Json& value, const std::string& where) const {
    if (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>())) {
      return wrong_type(where, "an integer of 64 bits with a sign", value);
    }
    return value.get<std::int64_t>();
  }

 private:
  Result<ScalarType> read_dtype(const std::string& name, const std::string& where) const {
    if (const ScalarTypeInfo* const found = find_torch_scalar_type(name)) return found->type;
    std::vector<std::string> known;
    for (const ScalarTypeInfo& info : scalar_types) known.emplace_back(info.torch_name);
    const auto similar = host::near_names(name, known, 1);
    return wrong(where, "unknown dtype ", host::quoted(name), ", expected PyTorch's name of one",
                 similar.empty() ? std::string() : concat("; did you mean '", similar[0], "'?"));
  }

  Result<std::optional<double>> read_limit(const Json& limits, const std::string& where,
                                           const char* key) const {
    const Json* const value = find(limits, key);
    if (!value) return std::optional<double>();
    const bool is_limit = value->is_number() && std::isfinite(value->get<double>()) &&
                          !std::signbit(value->get<double>());
    if (!is_limit) return wrong_type(member(where, key), "a number from 0 on", *value);
    return std::optional<double>(value->get<double>());
  }

  Result<OptionValue> read_option_value(const Json& value, const std::string& where) const {
    if (value.is_boolean()) return OptionValue(value.get<bool>());
    if (value.is_number_float()) return OptionValue(value.get<double>());
    if (value.is_string()) {
      TENON_TRY(std::string text, read_text(value, where));
      return OptionValue(std::move(text));
    }
    if (value.is_number_integer()) {
      TENON_TRY(const std::int64_t number, read_int64(value, where));
      return OptionValue(number);
    }
    const Json* const bytes =
        value.is_object() && value.size() == 1 ? find(value, "bytes") : nullptr;
    if (!bytes) {
      return wrong_type(where, "true, false, a number, a text or {\"bytes\": \"00ff\"}", value);
    }
    TENON_TRY(const std::string text, read_text(*bytes, where + ".bytes"));
    std::string_view digits = text;
    std::vector<std::byte> out;
    for (; digits.size() >= 2; digits.remove_prefix(2)) {
      unsigned byte = 0;
      const auto [end, code] = std::from_chars(digits.data(), digits.data() + 2, byte, 16);
      if (code != std::errc() || end != digits.data() + 2) break;
      out.push_back(static_cast<std::byte>(byte));
    }
    if (!digits.empty()) {
      return wrong_type(where + ".bytes", "two hexadecimal digits for each byte", *bytes);
    }
    return OptionValue(std::move(out));
  }
};

}  // namespace tenon::inline TENON_RELEASE::conformance::detail
