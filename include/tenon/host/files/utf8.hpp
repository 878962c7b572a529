// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::host::detail {

/// Decodes the character at the beginning of `text`, which must not be empty, and sets `size` to
/// its number of bytes. Returns -1, with a size of 1, when the bytes are not UTF-8: overlong forms,
/// surrogates, and numbers above U+10FFFF are not.
[[nodiscard]] constexpr std::int32_t decode_utf8(std::string_view text,
                                                 std::size_t& size) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  size = 1;
  const std::uint32_t first = byte(0);
  if (first < 0x80) return static_cast<std::int32_t>(first);
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return -1;
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return -1;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = code < (length == 4 ? 0x10000U : length == 3 ? 0x800U : 0x80U);
  if (overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return -1;
  size = length;
  return static_cast<std::int32_t>(code);
}

/// Whether a terminal may obey the character instead of showing it: C0, DEL and C1.
[[nodiscard]] constexpr bool is_control(std::int32_t code) noexcept {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

}  // namespace tenon::host::detail
