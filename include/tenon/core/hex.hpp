// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "tenon/core/bytes.hpp"

namespace tenon {

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

}  // namespace tenon
