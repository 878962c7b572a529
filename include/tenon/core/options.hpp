// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/abi/extensions/options.h"
#include "tenon/core/bytes.hpp"
#include "tenon/core/hex.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/visible.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Name of an option type, as errors spell it.
[[nodiscard]] constexpr std::string_view option_type_name(std::uint32_t type) noexcept {
  switch (type) {
    case TENON_OPTION_BOOL:
      return "bool";
    case TENON_OPTION_INT:
      return "int64";
    case TENON_OPTION_DOUBLE:
      return "double";
    case TENON_OPTION_STRING:
      return "string";
    case TENON_OPTION_BYTES:
      return "bytes";
    default:
      return "?";
  }
}

namespace detail {

template <class T>
concept TextOption = std::convertible_to<const T&, std::string_view>;

/// Types that an option can be made of: a bool, an integer that an int64 holds, a floating-point
/// number, text or bytes.
template <class T>
concept OptionSource =
    (std::integral<T> && (std::is_signed_v<T> || sizeof(T) < sizeof(std::int64_t))) ||
    std::floating_point<T> || TextOption<T> || std::convertible_to<const T&, Bytes>;

}  // namespace detail

/// The value of an option as the boundary has it: text and bytes are not copied, and must outlive
/// it. Each reader returns nothing when the value is of another type, or is text or bytes with
/// null data and a size.
class OptionView {
 public:
  template <detail::OptionSource T>
  constexpr OptionView(const T& value) noexcept {
    if constexpr (std::same_as<T, bool>) {
      option_.type = TENON_OPTION_BOOL;
      option_.as.boolean = value ? 1 : 0;
    } else if constexpr (std::integral<T>) {
      option_.type = TENON_OPTION_INT;
      option_.as.integer = value;
    } else if constexpr (std::floating_point<T>) {
      option_.type = TENON_OPTION_DOUBLE;
      option_.as.real = value;
    } else if constexpr (detail::TextOption<T>) {
      const std::string_view text = value;
      option_.type = TENON_OPTION_STRING;
      option_.as.span = tenon_span{text.data(), text.size()};
    } else {
      const Bytes bytes = value;
      option_.type = TENON_OPTION_BYTES;
      option_.as.span = tenon_span{bytes.data(), bytes.size()};
    }
  }
  explicit OptionView(const tenon_option& option) noexcept {
    option_.type = option.type;
    option_.as = option.as;
  }

  /// TENON_OPTION_..., or a number that the host alone knows.
  [[nodiscard]] constexpr std::uint32_t type() const noexcept { return option_.type; }

  [[nodiscard]] std::optional<bool> boolean() const noexcept {
    if (type() != TENON_OPTION_BOOL) return std::nullopt;
    return option_.as.boolean != 0;
  }
  [[nodiscard]] std::optional<std::int64_t> integer() const noexcept {
    if (type() != TENON_OPTION_INT) return std::nullopt;
    return option_.as.integer;
  }
  [[nodiscard]] std::optional<double> real() const noexcept {
    if (type() != TENON_OPTION_DOUBLE) return std::nullopt;
    return option_.as.real;
  }
  [[nodiscard]] std::optional<std::string_view> string() const noexcept {
    if (type() != TENON_OPTION_STRING) return std::nullopt;
    const auto text = span();
    if (!text) return std::nullopt;
    return as_text(*text);
  }
  [[nodiscard]] std::optional<Bytes> bytes() const noexcept {
    if (type() != TENON_OPTION_BYTES) return std::nullopt;
    return span();
  }

  /// The struct of the boundary. Refers to `key`, and to the text or bytes.
  [[nodiscard]] constexpr tenon_option option(const char* key) const noexcept {
    tenon_option out = option_;
    out.key = key;
    return out;
  }

 private:
  [[nodiscard]] std::optional<Bytes> span() const noexcept {
    const tenon_span& span = option_.as.span;
    if (!span.data && span.size != 0) return std::nullopt;
    return Bytes(static_cast<const std::byte*>(span.data), static_cast<std::size_t>(span.size));
  }

  tenon_option option_{sizeof(tenon_option), 0, nullptr, {}};
};

/// The value of an option, with its own copy of text and bytes.
class OptionValue {
 public:
  OptionValue() noexcept : OptionValue(false) {}
  template <detail::OptionSource T>
  OptionValue(const T& value) : OptionValue(OptionView(value)) {}
  /// A copy; false where `value` cannot be read: its type is unknown, or its text is null.
  OptionValue(const OptionView& value) : type_(value.type()) {
    if (const auto integer = value.integer()) {
      integer_ = *integer;
    } else if (const auto real = value.real()) {
      real_ = *real;
    } else if (const auto text = value.string()) {
      text_ = *text;
    } else if (const auto bytes = value.bytes()) {
      text_ = as_text(*bytes);
    } else {
      type_ = TENON_OPTION_BOOL;
      integer_ = value.boolean().value_or(false) ? 1 : 0;
    }
  }

  /// TENON_OPTION_...
  [[nodiscard]] std::uint32_t type() const noexcept { return type_; }

  /// The value as `T`: bool, std::int64_t, double, std::string or std::vector<std::byte>. Nothing
  /// when it is of another type.
  template <class T>
  [[nodiscard]] std::optional<T> get() const {
    if constexpr (std::same_as<T, bool>) {
      return OptionView(*this).boolean();
    } else if constexpr (std::same_as<T, std::int64_t>) {
      return OptionView(*this).integer();
    } else if constexpr (std::same_as<T, double>) {
      return OptionView(*this).real();
    } else if constexpr (std::same_as<T, std::string>) {
      if (type_ != TENON_OPTION_STRING) return std::nullopt;
      return text_;
    } else {
      static_assert(std::same_as<T, std::vector<std::byte>>, "tenon: no option has this type");
      if (type_ != TENON_OPTION_BYTES) return std::nullopt;
      const Bytes bytes = std::as_bytes(std::span(text_));
      return T(bytes.begin(), bytes.end());
    }
  }

  /// A view of this value.
  operator OptionView() const noexcept {
    switch (type_) {
      case TENON_OPTION_BOOL:
        return integer_ != 0;
      case TENON_OPTION_INT:
        return integer_;
      case TENON_OPTION_DOUBLE:
        return real_;
      case TENON_OPTION_STRING:
        return text_;
      default:
        return std::as_bytes(std::span(text_));
    }
  }

  [[nodiscard]] bool operator==(const OptionValue& other) const noexcept = default;

 private:
  std::uint32_t type_;
  std::int64_t integer_ = 0;  // Of a bool too.
  double real_ = 0.0;
  std::string text_;  // Of bytes too.
};

/// Fails with InvalidType when the type number is unknown, with InvalidArgument when text or bytes
/// have null data and a size.
[[nodiscard]] inline Status check_option(const tenon_option& option) {
  const OptionView view(option);
  // A struct that a plugin did not fill has no key.
  const std::string_view key = option.key ? option.key : "";
  if (option_type_name(view.type()) == "?") {
    return error(Error::InvalidType, "option '", key, "': unknown type number ", option.type);
  }
  const bool has_span = view.type() == TENON_OPTION_STRING || view.type() == TENON_OPTION_BYTES;
  if (!has_span || view.string() || view.bytes()) return ok();
  return error(Error::InvalidArgument, "option '", key, "': null data with size ",
               option.as.span.size);
}

/// Copies a value off the boundary.
/// errors: as `check_option`.
[[nodiscard]] inline Result<OptionValue> read_option(const tenon_option& option) {
  TENON_RETURN_IF_ERROR(check_option(option));
  return OptionValue(OptionView(option));
}

/// Presents a value to the other side of the boundary. Refers to `key` and to the text of `value`.
[[nodiscard]] inline tenon_option write_option(const char* key, const OptionView& value) noexcept {
  return value.option(key);
}

namespace detail {

/// The whole of `text` as a decimal number; nothing when it is no number or out of range.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(const std::string& text) {
  const char* begin = text.c_str();
  const char* const end = begin + text.size();
  if (text.starts_with('+') && text.find_first_of("+-", 1) != 1) ++begin;
  Number out{};
  if constexpr (requires { std::from_chars(begin, end, out); }) {
    const auto [stop, failed] = std::from_chars(begin, end, out);
    if (failed != std::errc() || stop != end) return std::nullopt;
  } else {
    // Not every standard library reads floating point there. strtod also reads blanks and
    // hexadecimal numbers, needs the "C" locale, and says ERANGE of subnormal numbers, too.
    if (text.find_first_of(" \t\n\v\f\rxX") != std::string::npos) return std::nullopt;
    char* stop = nullptr;
    errno = 0;
    out = std::strtod(begin, &stop);
    const bool is_in_range = errno != ERANGE || (out != 0 && std::isfinite(out));
    if (!is_in_range || stop != end || stop == begin) return std::nullopt;
  }
  return out;
}

}  // namespace detail

/// `text`, as a person writes a value of that type; nothing for another text:
///
///   bool    true, false, 1, 0           string  unchanged
///   int64   decimal                     bytes   hexadecimal digits, two a byte
///   double  decimal, inf, nan
[[nodiscard]] inline std::optional<OptionValue> parse_option(const std::string& text,
                                                             std::uint32_t type) {
  switch (type) {
    case TENON_OPTION_BOOL:
      if (text == "true" || text == "1") return true;
      if (text == "false" || text == "0") return false;
      return std::nullopt;
    case TENON_OPTION_INT:
      return detail::parse_number<std::int64_t>(text);
    case TENON_OPTION_DOUBLE:
      return detail::parse_number<double>(text);
    case TENON_OPTION_BYTES:
      return from_hex(text);
    default:
      return text;
  }
}

/// `text` as a value of the type that it looks like: true or false, an integer, a number with a
/// digit in it, else a string.
[[nodiscard]] inline OptionValue guess_option(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (const auto integer = detail::parse_number<std::int64_t>(text)) return *integer;
  // "inf" and "nan" are more likely words than numbers.
  if (text.find_first_of("0123456789") != std::string::npos) {
    if (const auto real = detail::parse_number<double>(text)) return *real;
  }
  return text;
}

/// The value for a person: numbers in full, text in quotes and cut after 64 bytes, of bytes their
/// number.
[[nodiscard]] [[gnu::cold]] inline std::string option_text(const OptionView& value) {
  if (const auto boolean = value.boolean()) return concat(*boolean);
  if (const auto integer = value.integer()) return concat(*integer);
  if (const auto real = value.real()) return concat(*real);
  if (const auto text = value.string()) return concat("'", detail::visible_part(*text, 64), "'");
  return concat(value.bytes().value_or(Bytes()).size(), " bytes");
}

/// The values that a declaration allows: "1 to 16", "0.5 or more", "one of cpu, gpu"; empty: any
/// value. `choices` are texts.
template <class Choices>
[[nodiscard]] [[gnu::cold]] std::string option_range(const std::optional<OptionView>& minimum,
                                                     const std::optional<OptionView>& maximum,
                                                     const Choices& choices) {
  if (minimum && maximum) return concat(option_text(*minimum), " to ", option_text(*maximum));
  if (minimum) return concat(option_text(*minimum), " or more");
  if (maximum) return concat(option_text(*maximum), " or less");
  return std::empty(choices) ? std::string() : concat("one of ", join(choices, ", "));
}

/// The refusal of a key that no option has: NotFound with `known`, the keys that there are.
[[nodiscard]] [[gnu::cold]] inline Status unknown_option(std::string_view key,
                                                         std::string_view known = {}) {
  // The key may come from a file, of any length.
  return error(Error::NotFound, "option '", detail::visible_part(key, 64),
               "' is unknown; the backend has", known.empty() ? " no options" : ": ", known);
}

/// The type of an option, and places where it may be given or is: TENON_OPTION_AT_....
struct OptionUse {
  std::uint32_t type;
  std::uint32_t places;
};

/// Judges how an option is given by how it is declared.
/// errors: InvalidType, NotSupported, as TN-OPT-1 has them.
[[nodiscard]] inline Status check_use(std::string_view key, OptionUse declared, OptionUse given) {
  if (given.type != declared.type) {
    return error(Error::InvalidType, "option '", key, "': expected ",
                 option_type_name(declared.type), ", found ", option_type_name(given.type));
  }
  if ((given.places & declared.places) != 0) return ok();
  return error(Error::NotSupported, "option '", key, "' cannot be given ",
               given.places == TENON_OPTION_AT_LOAD ? "for one load" : "for the whole backend");
}

}}  // namespace tenon::TENON_RELEASE
