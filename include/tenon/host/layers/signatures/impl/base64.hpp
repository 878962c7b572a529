// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/version.h"

/// Base64 (RFC 4648, with padding), and the lines that hold it.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

inline constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes of base64, exactly; nothing for any other text.
inline std::optional<std::vector<std::uint8_t>> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t num_padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::vector<std::uint8_t> out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int num_bits = 0;
  for (const char letter : text.substr(0, text.size() - num_padding)) {
    const std::size_t digit = base64_digits.find(letter);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    out.push_back(static_cast<std::uint8_t>(bits >> num_bits));
    bits &= (1U << num_bits) - 1;
  }
  if (bits != 0) return std::nullopt;  // Bits that no byte takes.
  return out;
}

inline std::string to_base64(std::span<const std::uint8_t> bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    const std::size_t num_bytes = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < num_bytes ? bytes[i + j] : std::uint8_t{0});
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += j <= num_bytes ? base64_digits[bits >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

/// The next line of `text`, which is cut, without its end ("\n" or "\r\n").
inline std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
