// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE {

namespace detail {

/// One piece of a message: a reference to text, or a number. `concat` and `error` convert their
/// arguments to pieces, so that one function that is not a template builds every message. The type
/// is implicit to construct and refers to its argument: use it for parameters alone.
class Piece {
 public:
  Piece(const char* text) noexcept : text_(text), size_(std::char_traits<char>::length(text)) {}
  /// Strings, views and types that convert to a view. A template, because compilers rule it out
  /// sooner than a conversion to `std::string_view`.
  template <class Text>
    requires std::is_class_v<Text> && std::is_convertible_v<const Text&, std::string_view>
  Piece(const Text& text) noexcept {
    const std::string_view view = text;
    text_ = view.data();
    size_ = view.size();
  }
  Piece(char value) noexcept : character_(value), size_(character) {}
  Piece(bool value) noexcept : boolean_(value), size_(boolean) {}
  Piece(int value) noexcept : signed_(value), size_(signed_integer) {}
  Piece(long value) noexcept : signed_(value), size_(signed_integer) {}
  Piece(long long value) noexcept : signed_(value), size_(signed_integer) {}
  Piece(unsigned value) noexcept : unsigned_(value), size_(unsigned_integer) {}
  Piece(unsigned long value) noexcept : unsigned_(value), size_(unsigned_integer) {}
  Piece(unsigned long long value) noexcept : unsigned_(value), size_(unsigned_integer) {}
  Piece(float value) noexcept : float_(value), size_(single) {}
  Piece(double value) noexcept : double_(value), size_(real) {}
  Piece(const void*) = delete;  // A pointer must not become a bool.

  [[gnu::cold]] void append_to(std::string& out) const {
    char digits[64];
    char* const end = digits + sizeof digits;
    switch (size_) {
      case character:
        out.push_back(character_);
        return;
      case boolean:
        out.append(boolean_ ? "true" : "false");
        return;
      case signed_integer:
        out.append(digits, std::to_chars(digits, end, signed_).ptr);
        return;
      case unsigned_integer:
        out.append(digits, std::to_chars(digits, end, unsigned_).ptr);
        return;
      case single:  // Apart from double: 0.1f is "0.1", as a double it would have 17 digits.
        out.append(digits, std::to_chars(digits, end, float_).ptr);
        return;
      case real:
        out.append(digits, std::to_chars(digits, end, double_).ptr);
        return;
      default:
        out.append(text_, size_);
    }
  }

 private:
  // In place of the size of a text: sizes that no text has. A piece then fits two registers.
  static constexpr std::size_t character = static_cast<std::size_t>(-1);
  static constexpr std::size_t boolean = static_cast<std::size_t>(-2);
  static constexpr std::size_t signed_integer = static_cast<std::size_t>(-3);
  static constexpr std::size_t unsigned_integer = static_cast<std::size_t>(-4);
  static constexpr std::size_t single = static_cast<std::size_t>(-5);
  static constexpr std::size_t real = static_cast<std::size_t>(-6);

  union {
    const char* text_;
    char character_;
    bool boolean_;
    long long signed_;
    unsigned long long unsigned_;
    float float_;
    double double_;
  };
  std::size_t size_;
};

[[gnu::cold]] inline std::string concat_pieces(std::initializer_list<Piece> pieces) {
  std::string out;
  for (const Piece& piece : pieces) piece.append_to(out);
  return out;
}

}  // namespace detail

/// Joins text, numbers and booleans into one string. Used for error texts, so that a plugin needs
/// no formatting library (gcc 12 has no `std::format`).
template <class... Pieces>
[[nodiscard]] std::string concat(const Pieces&... pieces) {
  return detail::concat_pieces({detail::Piece(pieces)...});
}

}}  // namespace tenon::TENON_RELEASE
