// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/lists.hpp"
#if defined(_WIN32)
#include "tenon/host/platform/impl/windows/glob.hpp"
#else
#include "tenon/host/platform/impl/posix/glob.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Whether `name` as a whole matches `pattern`, which has the meaning of fnmatch(3): `*`, `?`,
/// `[a-z]`, and a backslash before a literal character. Upper and lower case differ.
[[nodiscard]] inline bool matches_glob(const std::string& pattern, std::string_view name) {
  // fnmatch ends a text at its first NUL.
  if (name.find('\0') != std::string_view::npos) return false;
  return platform::matches(pattern, std::string(name));
}

/// A list of patterns as of `matches_glob`, separated by commas: "Cuda*, libacme.so". Blanks around
/// a pattern and empty patterns do not count.
class GlobList {
 public:
  GlobList() = default;
  explicit GlobList(std::string_view text) {
    for (std::string_view pattern : split(text, ',')) {
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
    return std::ranges::any_of(
        patterns_, [&](const std::string& pattern) { return matches_glob(pattern, name); });
  }

 private:
  std::vector<std::string> patterns_;
};

}}}  // namespace tenon::TENON_RELEASE::host
