// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/files/shortened.hpp"

#include <algorithm>

#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

[[nodiscard]] inline bool continues_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

}  // namespace detail

std::string shortened(std::string_view text, std::size_t longest) {
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

}}}  // namespace tenon::TENON_RELEASE::host
