// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace tenon {

namespace detail {

inline void append_piece(std::string& out, std::string_view piece) { out.append(piece); }

template <class Integer>
requires std::integral<Integer> &&(!std::same_as<Integer, bool>)&&(
    !std::same_as<Integer, char>)void append_piece(std::string& out, Integer value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

template <std::floating_point Real>
void append_piece(std::string& out, Real value) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

template <std::same_as<bool> Bool>
void append_piece(std::string& out, Bool value) {
  out.append(value ? "true" : "false");
}

template <std::same_as<char> Char>
void append_piece(std::string& out, Char value) {
  out.push_back(value);
}

}  // namespace detail

/// Joins text, numbers and booleans into one string. Used for error texts, so that a plugin needs
/// no formatting library (gcc 12 has no `std::format`).
template <class... Pieces>
[[nodiscard]] std::string concat(const Pieces&... pieces) {
  std::string out;
  (detail::append_piece(out, pieces), ...);
  return out;
}

}  // namespace tenon
