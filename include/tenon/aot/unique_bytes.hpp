// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/shared_bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// A list of distinct contents, in the order in which they were first seen.
///
/// Contents are compared byte by byte, and only when sizes and samples agree: large blobs are read
/// at most once for each equal one, and the answer does not rest on a hash.
class UniqueBytes {
 public:
  /// The index of bytes equal to `bytes`, or nothing.
  [[nodiscard]] std::optional<std::uint32_t> find(Bytes bytes) const {
    const auto [first, last] = by_sample_.equal_range(sample(bytes));
    for (auto it = first; it != last; ++it) {
      if (equal(all_[it->second].bytes(), bytes)) return it->second;
    }
    return std::nullopt;
  }

  /// The index of the content, which is kept when it is new.
  std::uint32_t add(SharedBytes bytes) {
    if (const auto found = find(bytes.bytes())) return *found;
    const auto index = static_cast<std::uint32_t>(all_.size());
    by_sample_.emplace(sample(bytes.bytes()), index);
    all_.push_back(std::move(bytes));
    return index;
  }

  [[nodiscard]] const std::vector<SharedBytes>& all() const noexcept { return all_; }
  [[nodiscard]] const SharedBytes& operator[](std::size_t index) const noexcept {
    return all_[index];
  }

  [[nodiscard]] static bool equal(Bytes a, Bytes b) noexcept {
    if (a.size() != b.size()) return false;
    return a.empty() || a.data() == b.data() || std::memcmp(a.data(), b.data(), a.size()) == 0;
  }

 private:
  /// Sixteen pieces at equal distances; small contents are taken whole.
  static std::size_t sample(Bytes bytes) noexcept {
    constexpr std::size_t pieces = 16;
    constexpr std::size_t piece = 16;
    std::size_t out = bytes.size();
    const auto mix = [&out](Bytes part) {
      out = out * 31 + std::hash<std::string_view>()(as_text(part));
    };
    if (bytes.size() <= pieces * piece) {
      mix(bytes);
      return out;
    }
    for (std::size_t i = 0; i < pieces; ++i) {
      mix(bytes.subspan((bytes.size() - piece) / (pieces - 1) * i, piece));
    }
    return out;
  }

  std::vector<SharedBytes> all_;
  std::multimap<std::size_t, std::uint32_t> by_sample_;
};

}}}  // namespace tenon::TENON_RELEASE::aot
