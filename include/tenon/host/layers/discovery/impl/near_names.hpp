// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

[[gnu::cold]] inline std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// Least number of characters to insert, remove, replace, or swap with their neighbour that makes
/// one text of the other (the restricted Damerau-Levenshtein distance).
[[gnu::cold]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j < last.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace detail

/// The names of `known` that are similar to `wanted`, the nearest first: at most
/// a third of the characters (and at least two) differ, or one is a part of the other ("cuda",
/// "CudaBackend"). Upper and lower case do not count. Texts longer than 256 bytes have none.
[[nodiscard]] [[gnu::cold]] inline std::vector<std::string> near_names(
    std::string_view wanted, std::span<const std::string> known, std::size_t at_most = 3) {
  constexpr std::size_t longest = 256;
  constexpr std::size_t shortest_part = 3;
  if (wanted.empty() || wanted.size() > longest) return {};
  const std::string sought = detail::to_lower(wanted);
  // By name; `none` for those that are not similar.
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> distances(known.size(), none);
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::string& name = known[i];
    if (name == wanted || name.empty() || name.size() > longest) continue;
    const std::string other = detail::to_lower(name);
    const std::size_t allowed = std::max<std::size_t>(2, std::min(sought.size(), other.size()) / 3);
    const std::size_t distance = detail::edit_distance(sought, other);
    const bool is_part =
        std::min(sought.size(), other.size()) >= shortest_part &&
        (other.find(sought) != std::string::npos || sought.find(other) != std::string::npos);
    if (is_part || (distance <= allowed && distance < std::max(sought.size(), other.size()))) {
      distances[i] = distance;
    }
  }
  // The few nearest, without sorting all.
  std::vector<std::string> out;
  while (out.size() < at_most) {
    std::size_t nearest = known.size();
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (distances[i] == none) continue;
      if (nearest == known.size() || distances[i] < distances[nearest] ||
          (distances[i] == distances[nearest] && known[i] < known[nearest])) {
        nearest = i;
      }
    }
    if (nearest == known.size()) break;
    out.push_back(known[nearest]);
    distances[nearest] = none;
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::host
