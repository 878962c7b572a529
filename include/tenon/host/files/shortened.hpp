// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/api.hpp"
#include "tenon/core/status.hpp"

namespace tenon::host {

/// Bytes of the longest error text that a host returns. Texts are made of names in files and of
/// texts of plugins, neither of which the host chooses.
inline constexpr std::size_t max_error_text = 16384;

/// `text`, or when it has more than `longest` bytes its beginning and its end with the number of
/// the bytes between: "abc ... (900 bytes) ... xyz". Characters of UTF-8 stay whole. `longest` is
/// at least 64, and what is returned is not longer.
[[nodiscard]] TENON_API std::string shortened(std::string_view text,
                                              std::size_t longest = max_error_text);

/// The same failure with a text of at most `max_error_text` bytes. Success stays.
TENON_COLD [[nodiscard]] inline Status shortened(Status&& status) {
  if (status.text().size() <= max_error_text) [[likely]]
    return std::move(status);
  return Status(status.error(), shortened(status.text()));
}

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include <algorithm>

#include "tenon/core/concat.hpp"

namespace tenon::host {

namespace detail {

[[nodiscard]] inline bool continues_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

}  // namespace detail

TENON_COLD TENON_API std::string shortened(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  constexpr std::size_t largest_mark = 40;  // Of " ... (18446744073709551615 bytes) ... ".
  const std::size_t room = longest - std::min(longest, largest_mark);
  std::size_t front = room - room / 3;
  std::size_t back = text.size() - room / 3;
  // A text that is not UTF-8 has no characters to keep whole.
  constexpr std::size_t longest_character = 4;
  for (std::size_t i = 0; i < longest_character && front > 0; ++i) {
    if (!detail::continues_character(text[front])) break;
    --front;
  }
  for (std::size_t i = 0; i < longest_character && back < text.size(); ++i) {
    if (!detail::continues_character(text[back])) break;
    ++back;
  }
  return concat(text.substr(0, front), " ... (", back - front, " bytes) ... ", text.substr(back));
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
