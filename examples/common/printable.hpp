// SPDX-License-Identifier: MIT
#pragma once

#include <flatbuffers/util.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace tenon {

/// `text` as one line that cannot drive a terminal: a blank for each line feed, and '?' for each
/// other control character, of C1 too, which terminals obey as one byte and as a character of
/// UTF-8, and for each byte that is no UTF-8.
[[nodiscard]] inline std::string printable(std::string_view view) {
  std::string text(view);
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
  if (std::ranges::all_of(text, is_plain)) return text;
  std::string out;
  const char* const end = text.c_str() + text.size();
  for (const char* next = text.c_str(); next != end;) {
    const char* const start = next;
    const int code = flatbuffers::FromUTF8(&next);
    if (code < 0) next = start + 1;
    const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    if (code == '\n') {
      out.push_back(' ');
    } else if (is_control) {
      out.push_back('?');
    } else {
      out.append(start, next);
    }
  }
  return out;
}

}  // namespace tenon
