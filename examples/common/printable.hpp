// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// `text` as one line: control characters, which may come from a file or a plugin, become '?' and
/// line feeds become blanks.
[[nodiscard]] inline std::string printable(std::string_view text) {
  std::string out;
  for (const char character : text) {
    const auto code = static_cast<unsigned char>(character);
    const bool is_control = code < 0x20 || code == 0x7f;
    out.push_back(character == '\n' ? ' ' : is_control ? '?' : character);
  }
  return out;
}

}  // namespace tenon
