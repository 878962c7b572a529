// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/abi/version.h"

/// Foreign texts in messages. A file or a plugin chooses its names and texts, and a message that
/// quotes one is printed to terminals and logs: no character of it may be obeyed there.
///
/// `Status` and `error` make every message visible, so that no other code has to.
namespace tenon { inline namespace TENON_RELEASE { namespace detail {

/// Decodes the character at the beginning of `text`, which must not be empty, and sets `size` to
/// its number of bytes. Returns -1, with a size of 1, when the bytes are not UTF-8 (RFC 3629):
/// overlong forms, surrogates, and numbers above U+10FFFF are not.
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

/// Whether the character is a control character of Unicode: C0, DEL and C1.
[[nodiscard]] constexpr bool is_control(std::int32_t code) noexcept {
  return (code >= 0 && code < 0x20) || (code >= 0x7f && code < 0xa0);
}

/// Whether a display may obey the character, or the byte that is not UTF-8 (-1), instead of showing
/// it: control characters, line and paragraph separators, marks and overrides of the direction of
/// writing (Unicode Standard Annex 9), the byte order mark, and numbers that are no characters.
[[nodiscard]] constexpr bool is_terminal_control(std::int32_t code) noexcept {
  return code < 0 || is_control(code) || code == 0x061c || (code >= 0x200e && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x206f) ||
         code == 0xfeff || (code & 0xffff) >= 0xfffe;
}

/// Appends the escape of a character of which `is_terminal_control` is true: `\n`, `\t`, `\r`,
/// `\x1b`, `\u202e`, `\U01fffe`. `first` is its first byte, which is shown when `code` is -1.
[[gnu::cold]] inline void append_escape(std::string& out, std::int32_t code, char first) {
  if (code < 0) code = static_cast<unsigned char>(first);
  if (code == '\n' || code == '\t' || code == '\r') {
    out += code == '\n' ? "\\n" : code == '\t' ? "\\t" : "\\r";
    return;
  }
  out += code > 0xffff ? "\\U" : code > 0xff ? "\\u" : "\\x";
  const int digits = code > 0xffff ? 6 : code > 0xff ? 4 : 2;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out.push_back("0123456789abcdef"[(static_cast<std::uint32_t>(code) >> shift) & 0xf]);
  }
}

/// `text` in which each character that a display may obey is an escape; `kept` is a character that
/// is not changed. The result of a result is the same text.
[[nodiscard]] [[gnu::cold]] inline std::string visible(std::string text, char kept = ' ') {
  const auto is_plain = [&](char c) { return (c >= ' ' && c <= '~') || c == kept; };
  std::size_t at = 0;
  while (at < text.size() && is_plain(text[at])) ++at;
  if (at == text.size()) return text;
  std::string out(text, 0, at);
  for (std::size_t size = 0; at < text.size(); at += size) {
    const std::int32_t code = decode_utf8(std::string_view(text).substr(at), size);
    if (is_terminal_control(code) && text[at] != kept) {
      append_escape(out, code, text[at]);
    } else {
      out.append(text, at, size);
    }
  }
  return out;
}

/// The first `longest` bytes of `text`, in whole characters and `visible`; "..." marks a text that
/// was cut.
[[nodiscard]] [[gnu::cold]] inline std::string visible_part(std::string_view text,
                                                            std::size_t longest) {
  if (text.size() <= longest) return visible(std::string(text));
  std::size_t limit = 0;
  for (std::size_t size = 0; limit + size <= longest;) {
    limit += size;
    static_cast<void>(decode_utf8(text.substr(limit), size));
  }
  return visible(std::string(text.substr(0, limit))) + "...";
}

}}}  // namespace tenon::TENON_RELEASE::detail
