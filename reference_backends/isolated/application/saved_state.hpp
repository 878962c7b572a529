// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace tenon::isolated {

/// The state of a delegate as the application last read or wrote all parts of it
/// ("tenon.sequence/1") with no run in between: what a delegate has that is loaded again in a new
/// worker.
class SavedState {
 public:
  using Parts = std::map<std::uint64_t, std::vector<std::byte>>;

  /// A part was read or written after `num_calls` runs; the state has `num_parts`.
  void put(std::uint64_t num_calls, std::uint64_t part, const void* data, std::uint64_t nbytes,
           std::size_t num_parts) {
    if (num_calls != num_calls_) coming_.clear();
    num_calls_ = num_calls;
    const auto* const bytes = static_cast<const std::byte*>(data);
    std::vector<std::byte>& kept = complete_at_ == num_calls ? parts_[part] : coming_[part];
    kept.assign(bytes, bytes + nbytes);
    if (complete_at_ == num_calls || coming_.size() != num_parts) return;
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
