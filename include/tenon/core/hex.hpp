// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Appends two hexadecimal digits, lower case.
inline void append_hex(std::string& out, std::byte byte) {
  constexpr char digits[] = "0123456789abcdef";
  const auto value = std::to_integer<unsigned>(byte);
  out.push_back(digits[value >> 4]);
  out.push_back(digits[value & 15]);
}

/// Two hexadecimal digits for each byte, lower case.
[[nodiscard]] inline std::string to_hex(Bytes bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) append_hex(out, byte);
  return out;
}

/// The bytes of which `digits` has two hexadecimal digits each, of either case; nothing for any
/// other text.
[[nodiscard]] inline std::optional<std::vector<std::byte>> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> out;
  out.reserve(digits.size() / 2);
  for (; !digits.empty(); digits.remove_prefix(2)) {
    std::uint8_t byte = 0;
    const char* const end = digits.data() + 2;
    if (std::from_chars(digits.data(), end, byte, 16).ptr != end) return std::nullopt;
    out.push_back(std::byte{byte});
  }
  return out;
}

/// Like `to_hex`, with a space between bytes, "7f 45 4c 46", of at most the first `limit` of
/// them.
[[nodiscard]] inline std::string to_spaced_hex(Bytes bytes, std::size_t limit) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size() && i < limit; ++i) {
    if (i != 0) out.push_back(' ');
    append_hex(out, bytes[i]);
  }
  return out;
}

}}  // namespace tenon::TENON_RELEASE
