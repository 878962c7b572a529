// SPDX-License-Identifier: MIT
#include "kit/case/settings_reader.hpp"

#include <cmath>
#include <optional>

#include "tenon/core/concat.hpp"
#include "tenon/core/hex.hpp"
#include "tenon/host/layers/discovery/impl/hand_written_json.hpp"
#include "tenon/host/layers/discovery/impl/near_names.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/platform/read_file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::detail {

namespace {

using host::detail::check_keys;
using host::detail::printable_text;

Result<ScalarType> read_dtype(const JsonAt& at, const std::string& name) {
  if (const ScalarTypeInfo* const found = find_torch_scalar_type(name)) return found->type;
  std::vector<std::string> known;
  for (const ScalarTypeInfo& info : scalar_types) known.emplace_back(info.torch_name);
  const auto similar = host::near_names(name, known, 1);
  return at.wrong("unknown dtype ", host::quoted(name), ", expected PyTorch's name of one",
                  similar.empty() ? std::string() : concat("; did you mean '", similar[0], "'?"));
}

Result<std::optional<double>> read_limit(const JsonAt& limits, std::string_view key) {
  const auto at = limits.find(key);
  if (!at) return std::optional<double>();
  const auto limit = at->real();
  if (!limit.ok() || !std::isfinite(*limit) || std::signbit(*limit)) {
    return at->wrong_type("a number from 0 on");
  }
  return std::optional<double>(*limit);
}

Result<OptionValue> read_option_value(const JsonAt& at) {
  const JsonAt::Json& value = at.json();
  if (value.is_boolean()) return OptionValue(value.get<bool>());
  if (value.is_number_float()) return OptionValue(value.get<double>());
  if (value.is_string()) {
    TENON_TRY(std::string text, printable_text(at));
    return OptionValue(std::move(text));
  }
  if (value.is_number_integer()) {
    TENON_TRY(const std::int64_t number, at.integer());
    return OptionValue(number);
  }
  const auto bytes = value.size() == 1 ? at.find("bytes") : std::nullopt;
  if (!bytes) return at.wrong_type("true, false, a number, a text or {\"bytes\": \"00ff\"}");
  TENON_TRY(const std::string_view digits, bytes->characters());
  const auto out = from_hex(digits);
  if (!out) return bytes->wrong_type("two hexadecimal digits for each byte");
  return OptionValue(*out);
}

}  // namespace

Result<std::string> read_settings(const std::filesystem::path& path) {
  std::error_code code;
  const auto size = std::filesystem::file_size(path, code);
  if (code) {
    return error(Error::AccessFailed, path.string(), ": cannot be read: ", code.message());
  }
  if (size > max_settings_size) {
    return error(Error::InvalidArgument, path.string(), ": has ", size, " bytes, expected at most ",
                 max_settings_size);
  }
  return host::read_file(path);
}

Result<std::string> read_words(const JsonAt& at) {
  TENON_TRY(std::string text, printable_text(at));
  if (text.find_first_not_of(' ') == std::string::npos) {
    return at.wrong_type("a text that is not empty");
  }
  return text;
}

Result<std::filesystem::path> read_path(const JsonAt& at, const std::filesystem::path& directory) {
  TENON_TRY(const std::string text, read_words(at));
  const std::filesystem::path path(text);
  if (path.is_absolute()) return at.wrong_type(concat("a path relative to ", directory.string()));
  return (directory / path).lexically_normal();
}

Result<std::filesystem::path> read_file_path(const JsonAt& at,
                                             const std::filesystem::path& directory) {
  TENON_TRY(std::filesystem::path path, read_path(at, directory));
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code)) {
    return at.wrong("expected a file, found none at ", host::quoted(path.string()));
  }
  return path;
}

Result<Tolerances> read_tolerances(const JsonAt& at) {
  Tolerances out;
  const auto read_limits = [&](const std::string& name, const JsonAt& limits) -> Status {
    TENON_TRY(const ScalarType type, read_dtype(at, name));
    if (type == ScalarType::Bool) {
      return limits.wrong("booleans are equal or not; no limit applies");
    }
    TENON_RETURN_IF_ERROR(limits.check_object("an object of limits"));
    TENON_RETURN_IF_ERROR(check_keys(limits, {"nmse", "peak", "max", "rtol", "atol"}));
    CaseTolerance tolerance;
    TENON_TRY(tolerance.nmse, read_limit(limits, "nmse"));
    TENON_TRY(tolerance.peak, read_limit(limits, "peak"));
    TENON_TRY(tolerance.max, read_limit(limits, "max"));
    TENON_TRY(tolerance.rtol, read_limit(limits, "rtol"));
    TENON_TRY(tolerance.atol, read_limit(limits, "atol"));
    out.set(type, tolerance);
    return ok();
  };
  TENON_RETURN_IF_ERROR(at.each_member(read_limits, "an object of limits by dtype"));
  return out;
}

Result<std::vector<std::pair<std::string, OptionValue>>> read_options(const JsonAt& at) {
  std::vector<std::pair<std::string, OptionValue>> out;
  const auto read_pair = [&](const std::string& key, const JsonAt& option) -> Status {
    TENON_RETURN_IF_ERROR(host::detail::check_printable(at, "a key", key));
    TENON_TRY(OptionValue value, read_option_value(option));
    out.emplace_back(key, std::move(value));
    return ok();
  };
  TENON_RETURN_IF_ERROR(at.each_member(read_pair, "an object of options"));
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance::detail
