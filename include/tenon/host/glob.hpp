// SPDX-License-Identifier: MIT
#pragma once

#include <fnmatch.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::host {

/// A list of patterns, separated by commas: "Cuda*, libacme.so". A pattern has the meaning of
/// fnmatch(3): `*`, `?`, `[a-z]`, and a backslash before a character that stands for itself. Blanks
/// around a pattern and empty patterns do not count. Upper and lower case differ.
class GlobList {
 public:
  GlobList() = default;
  explicit GlobList(std::string_view text) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      std::string_view pattern = text.substr(begin, end - begin);
      begin = end + 1;
      constexpr std::string_view blanks = " \t\r\n";
      const std::size_t first = pattern.find_first_not_of(blanks);
      if (first == std::string_view::npos) continue;
      pattern = pattern.substr(first, pattern.find_last_not_of(blanks) - first + 1);
      patterns_.emplace_back(pattern);
    }
  }

  /// No pattern at all.
  [[nodiscard]] bool empty() const noexcept { return patterns_.empty(); }

  /// Whether `name` matches one of the patterns, as a whole.
  [[nodiscard]] bool matches(std::string_view name) const {
    // fnmatch ends a text at its first NUL.
    if (patterns_.empty() || name.find('\0') != std::string_view::npos) return false;
    const std::string text(name);
    return std::ranges::any_of(patterns_, [&](const std::string& pattern) {
      return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
    });
  }

 private:
  std::vector<std::string> patterns_;
};

}  // namespace tenon::host
