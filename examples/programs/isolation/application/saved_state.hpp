// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tenon::isolated {

/// The state of a delegate as the application last read or wrote all parts of it
/// ("tenon.sequence/1") with no run in between: what a delegate has that is loaded again in a new
/// worker.
class SavedState {
 public:
  using Parts = std::map<std::uint64_t, std::vector<std::byte>>;

  /// `bytes` from `offset` on of a part were read or written after `num_calls` runs; the parts of
  /// the state have `sizes`. Ranges of a part that do not follow each other are not kept.
  void put(std::uint64_t num_calls, std::uint64_t part, std::uint64_t offset,
           std::span<const std::byte> bytes, const std::map<std::uint64_t, std::uint64_t>& sizes) {
    if (num_calls != num_calls_) coming_.clear();
    num_calls_ = num_calls;
    const bool is_complete = complete_at_ == num_calls;
    std::vector<std::byte>& kept = is_complete ? parts_[part] : coming_[part];
    if (offset > kept.size()) return;
    const auto begin = static_cast<std::size_t>(offset);
    kept.resize(std::max(kept.size(), begin + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), kept.begin() + static_cast<std::ptrdiff_t>(begin));
    if (is_complete) return;
    for (const auto& [index, nbytes] : sizes) {
      const auto found = coming_.find(index);
      if (nbytes != (found == coming_.end() ? 0 : found->second.size())) return;
    }
    parts_.swap(coming_);
    coming_.clear();
    complete_at_ = num_calls;
  }

  /// All parts; none when the state was never saved.
  [[nodiscard]] const Parts& parts() const noexcept { return parts_; }

 private:
  static constexpr std::uint64_t never = UINT64_MAX;

  Parts parts_;
  Parts coming_;  // Of the place that `num_calls_` is.
  std::uint64_t num_calls_ = never;
  std::uint64_t complete_at_ = never;
};

}  // namespace tenon::isolated
