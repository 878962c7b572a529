// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE {

/// The parts of `text` between separators, in order. There is one more than there are separators,
/// so an empty text has one empty part. Views of `text`.
[[nodiscard]] inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    out.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return out;
    begin = end + 1;
  }
}

/// `text_of` of each element of `list`, with `separator` between them.
template <class List, class TextOf>
[[nodiscard]] std::string join(const List& list, std::string_view separator,
                               const TextOf& text_of) {
  std::string out;
  bool is_first = true;
  for (const auto& element : list) {
    if (!is_first) out += separator;
    is_first = false;
    out += text_of(element);
  }
  return out;
}

/// The texts of `list` with `separator` between them.
template <class List>
[[nodiscard]] std::string join(const List& list, std::string_view separator) {
  return join(list, separator, [](std::string_view text) { return text; });
}

}}  // namespace tenon::TENON_RELEASE
