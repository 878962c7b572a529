// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tenon/core/lists.hpp"
#include "tenon/host/files/quoted.hpp"

namespace tenon::run {
namespace {

std::string joined(std::span<const std::string> words) {
  return words.empty() ? std::string("none") : join(words, ", ");
}

std::optional<bool> to_bool(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

std::optional<std::int64_t> to_integer(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// strtod, because std::from_chars does not read floating point in every standard library yet. The
// program never leaves the "C" locale.
std::optional<double> to_double(const std::string& text) {
  if (text.empty() || text.front() == ' ') return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  if (errno == ERANGE && std::isinf(value)) return std::nullopt;
  return value;
}

std::optional<std::vector<std::byte>> to_bytes(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  for (; !text.empty(); text.remove_prefix(2)) {
    unsigned value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + 2, value, 16);
    if (code != std::errc() || end != text.data() + 2) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

// `text` as `type`, or nothing.
std::optional<OptionValue> to_type(const std::string& text, std::uint32_t type) {
  const auto wrap = [](auto value) -> std::optional<OptionValue> {
    if (!value) return std::nullopt;
    return OptionValue(*std::move(value));
  };
  switch (type) {
    case TENON_OPTION_BOOL:
      return wrap(to_bool(text));
    case TENON_OPTION_INT:
      return wrap(to_integer(text));
    case TENON_OPTION_DOUBLE:
      return wrap(to_double(text));
    case TENON_OPTION_BYTES:
      return wrap(to_bytes(text));
    default:
      return OptionValue(text);
  }
}

OptionValue inferred(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (const auto integer = to_integer(text)) return *integer;
  // "inf" and "nan" are more likely words than numbers.
  if (text.find_first_of("0123456789") != std::string::npos) {
    if (const auto real = to_double(text)) return *real;
  }
  return text;
}

}  // namespace

Result<OptionArgument> split_option(std::string_view text,
                                    std::span<const std::string> backend_ids) {
  const std::size_t equals = text.find('=');
  const std::string_view front = text.substr(0, equals);
  if (equals == std::string_view::npos || front.find('.') == std::string_view::npos) {
    return error(Error::InvalidArgument, "--option ", host::quoted(text),
                 ": expected BACKEND.KEY=VALUE");
  }
  const std::string* backend = nullptr;
  for (const std::string& id : backend_ids) {
    if (front.starts_with(concat(id, ".")) && (!backend || id.size() > backend->size())) {
      backend = &id;
    }
  }
  if (!backend) {
    return error(Error::InvalidArgument, "--option ", host::quoted(text),
                 ": the method uses no such backend; it uses: ", joined(backend_ids));
  }
  const std::string_view key = front.substr(backend->size() + 1);
  if (key.empty()) {
    return error(Error::InvalidArgument, "--option ", host::quoted(text), ": the key is empty");
  }
  return OptionArgument{*backend, std::string(key), std::string(text.substr(equals + 1))};
}

Result<OptionValue> option_value(const OptionArgument& option,
                                 std::span<const host::OptionDeclaration> declarations) {
  if (declarations.empty()) return inferred(option.value);
  const std::string where = concat("--option ", option.backend, ".", option.key);
  std::vector<std::string> keys;
  for (const host::OptionDeclaration& declaration : declarations) {
    if (declaration.at_load) keys.push_back(declaration.key);
    if (declaration.key != option.key) continue;
    if (!declaration.at_load) {
      return error(Error::NotSupported, where, ": it cannot be set for a load");
    }
    const std::uint32_t type = declaration.initial.type();
    if (auto value = to_type(option.value, type)) return *std::move(value);
    return error(Error::InvalidType, where, ": expected a value of type ", option_type_name(type),
                 ", found ", host::quoted(option.value));
  }
  return error(Error::NotFound, where, ": the backend has no such option; it has: ", joined(keys));
}

}  // namespace tenon::run
