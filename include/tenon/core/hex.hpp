// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "tenon/core/bytes.hpp"

namespace tenon::inline TENON_RELEASE {

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

/// The same with a space between bytes, "7f 45 4c 46", of at most the first `limit` of them.
[[nodiscard]] inline std::string to_spaced_hex(Bytes bytes, std::size_t limit) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size() && i < limit; ++i) {
    if (i != 0) out.push_back(' ');
    append_hex(out, bytes[i]);
  }
  return out;
}

}  // namespace tenon::inline TENON_RELEASE
