// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tenon/core/api.hpp"

namespace tenon::host {

/// `text` in a form that cannot drive a terminal: control characters, and bytes that are not UTF-8,
/// become '?', or `line_feed` for a line feed. At most `longest` bytes of whole characters; "..."
/// marks a text that was cut. C1 counts as control characters, both as one byte and as a character
/// of UTF-8.
[[nodiscard]] TENON_API std::string printable(std::string_view text, std::size_t longest,
                                              char line_feed = '?');

namespace detail {
struct Quoted {
  [[nodiscard]] std::string operator()(std::string_view text) const;
};
}  // namespace detail

/// quoted(text) is `text` in single quotes for an error message. Text from a file may be long or
/// hold anything: it is cut after 80 bytes, or before the character that would exceed them, and
/// made `printable`, so that a message stays one line.
///
/// An object, because quoted(std::string) would choose std::quoted before a function.
inline constexpr detail::Quoted quoted{};

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include "tenon/host/files/utf8.hpp"

namespace tenon::host {

TENON_API std::string printable(std::string_view text, std::size_t longest, char line_feed) {
  const bool cut = text.size() > longest;
  const std::size_t limit = cut ? longest : text.size();
  std::string out;
  out.reserve(limit + 3);
  for (std::size_t at = 0; at < limit;) {
    std::size_t size = 0;
    const std::int32_t code = detail::decode_utf8(text.substr(at), size);
    if (at + size > limit) break;
    if (code == '\n') {
      out.push_back(line_feed);
    } else if (detail::is_control(code)) {
      out.push_back('?');
    } else {
      out.append(text.substr(at, size));
    }
    at += size;
  }
  if (cut) out += "...";
  return out;
}

TENON_API std::string detail::Quoted::operator()(std::string_view text) const {
  constexpr std::size_t longest = 80;
  std::string out(1, '\'');
  out += printable(text, longest);
  out += '\'';
  return out;
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
