// SPDX-License-Identifier: MIT
#pragma once

#include <flatbuffers/util.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace tenon::host {

namespace detail {

/// The beginning of `text`, at most `longest` bytes and whole characters, with "..." where it was
/// cut. Control characters, of C1 too, which terminals obey as one byte and as a character of
/// UTF-8, and bytes that are no UTF-8 become '?'.
inline std::string printable(std::string_view text, std::size_t longest) {
  // A character that begins before the limit has up to three bytes behind it.
  const std::string bytes(text.substr(0, longest + 3));
  const char* const begin = bytes.c_str();
  const char* const end = begin + std::min(longest, bytes.size());
  std::string out;
  for (const char* next = begin; next != end;) {
    const char* const start = next;
    const int code = flatbuffers::FromUTF8(&next);
    if (code < 0) next = start + 1;
    if (next > end) break;
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
      out.push_back('?');
    } else {
      out.append(start, next);
    }
  }
  return text.size() > longest ? out + "..." : out;
}

struct Quoted {
  [[nodiscard]] std::string operator()(std::string_view text) const {
    constexpr std::size_t longest = 80;
    std::string out(1, '\'');
    out += printable(text, longest);
    out += '\'';
    return out;
  }
};

}  // namespace detail

/// quoted(text) is `text` in single quotes for an error message. Text from a file may be long or
/// hold anything: it is cut after 80 bytes, or before the character that would pass them, and each
/// control character and each byte that is no UTF-8 becomes '?', so that a message stays one line
/// and cannot drive a terminal.
///
/// An object, because quoted(std::string) would choose std::quoted before a function.
inline constexpr detail::Quoted quoted{};

}  // namespace tenon::host
