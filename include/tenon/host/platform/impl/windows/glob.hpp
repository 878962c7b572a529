// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// The rules of fnmatch(3) in the C locale, for a system without it, but for classes in a set
/// (`[[:digit:]]`): a `[` in a set is a character. Asks nothing of Windows, so that a test can
/// compare it with fnmatch.
class Glob {
 public:
  Glob(std::string_view pattern, std::string_view name) noexcept : pattern_(pattern), name_(name) {}

  [[nodiscard]] bool matches() && noexcept {
    // Where to continue with one character more for the last `*`; of two the first never needs it.
    std::size_t star = none, kept = 0;
    std::size_t at = 0, next = 0;
    while (next < name_.size()) {
      if (at < pattern_.size() && pattern_[at] == '*') {
        star = ++at;
        kept = next;
        continue;
      }
      if (at < pattern_.size()) {
        const std::size_t after = match_one(at, name_[next]);
        if (after != none) {
          at = after;
          ++next;
          continue;
        }
      }
      if (star == none) return false;
      at = star;
      next = ++kept;
    }
    while (at < pattern_.size() && pattern_[at] == '*') ++at;
    return at == pattern_.size();
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// The place behind the part of the pattern at `at`, which is one for a single character, or
  /// `none` where `character` does not match.
  [[nodiscard]] std::size_t match_one(std::size_t at, char character) const noexcept {
    if (pattern_[at] == '?') return at + 1;
    if (pattern_[at] == '[') {
      std::size_t after = 0;
      bool found = false;
      // A bracket that is not closed is a character.
      if (read_set(at, character, after, found)) return found ? after : none;
    }
    if (pattern_[at] == '\\') {
      if (at + 1 == pattern_.size()) return none;
      ++at;
    }
    return pattern_[at] == character ? at + 1 : none;
  }

  /// `[a-z]`, `[!a-z]` or `[^a-z]`; a `]` that comes first is one of the set.
  [[nodiscard]] bool read_set(std::size_t at, char character, std::size_t& after,
                              bool& found) const noexcept {
    ++at;
    const bool negated = at < pattern_.size() && (pattern_[at] == '!' || pattern_[at] == '^');
    if (negated) ++at;
    bool inside = false;
    for (bool first = true; at < pattern_.size(); first = false) {
      if (pattern_[at] == ']' && !first) {
        found = inside != negated;
        after = at + 1;
        return true;
      }
      const char low = take(at);
      char high = low;
      if (at + 1 < pattern_.size() && pattern_[at] == '-' && pattern_[at + 1] != ']') {
        ++at;
        high = take(at);
      }
      const auto code = [](char c) { return static_cast<unsigned char>(c); };
      inside |= code(low) <= code(character) && code(character) <= code(high);
    }
    return false;
  }

  [[nodiscard]] char take(std::size_t& at) const noexcept {
    if (pattern_[at] == '\\' && at + 1 < pattern_.size()) ++at;
    return pattern_[at++];
  }

  std::string_view pattern_;
  std::string_view name_;
};

/// Whether `name` as a whole matches `pattern`.
[[nodiscard]] inline bool matches(std::string_view pattern, std::string_view name) noexcept {
  return Glob(pattern, name).matches();
}

}}}  // namespace tenon::TENON_RELEASE::host::platform
