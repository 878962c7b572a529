// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon::host {

/// `text` in single quotes for an error message. Text from a file may be long or hold control
/// characters: it is cut after 80 bytes, and each control character becomes '?', so that a message
/// stays one line and cannot drive a terminal.
[[nodiscard]] inline std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 80;
  std::string out = "'";
  for (const char character : text.substr(0, longest)) {
    const auto code = static_cast<unsigned char>(character);
    out.push_back(code < 0x20 || code == 0x7f ? '?' : character);
  }
  if (text.size() > longest) out += "...";
  out.push_back('\'');
  return out;
}

}  // namespace tenon::host
