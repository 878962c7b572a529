// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The bytes of an image that one run changed, as they were before it.
struct JournalStep {
  struct Range {
    std::size_t offset, nbytes;
  };
  std::uint64_t tokens = 0;
  std::vector<Range> ranges{};
  std::vector<std::byte> before{};  ///< Of the ranges, one after the other.

  [[nodiscard]] std::uint64_t nbytes() const noexcept {
    return before.size() + ranges.size() * sizeof(Range) + sizeof *this;
  }

  /// Copies what differs between `now` and `image` from `offset` on into this, and updates `image`.
  void take(const std::byte* now, std::byte* image, std::size_t offset, std::size_t nbytes) {
    constexpr std::size_t page = 4096, block = 64;
    for (std::size_t at = 0; at < nbytes; at += page) {
      const std::size_t end = std::min(at + page, nbytes);
      if (std::memcmp(now + at, image + offset + at, end - at) == 0) continue;
      for (std::size_t from = at; from < end; from += block) {
        const std::size_t size = std::min(block, end - from);
        std::byte* const old = image + offset + from;
        if (std::memcmp(now + from, old, size) == 0) continue;
        add(offset + from, {old, size});
        std::memcpy(old, now + from, size);
      }
    }
  }

  /// Undoes the run in `image`.
  void undo(std::byte* image) const noexcept {
    const std::byte* from = before.data();
    for (const Range& range : ranges) {
      std::memcpy(image + range.offset, from, range.nbytes);
      from += range.nbytes;
    }
  }

 private:
  /// `undo` is right also when there is no memory for the rest of this.
  void add(std::size_t offset, std::span<const std::byte> old) {
    before.insert(before.end(), old.begin(), old.end());
    if (!ranges.empty() && ranges.back().offset + ranges.back().nbytes == offset) {
      ranges.back().nbytes += old.size();
    } else {
      ranges.push_back({offset, old.size()});
    }
  }
};

/// The steps of a sequence, of which the oldest are forgotten. A copy shares them.
class Journal {
 public:
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }
  /// Counted from the latest, which is 0.
  [[nodiscard]] const JournalStep& step(std::size_t index) const noexcept {
    return *steps_[steps_.size() - 1 - index];
  }

  void add(std::shared_ptr<const JournalStep> step, std::uint64_t most_bytes) {
    nbytes_ += step->nbytes();
    steps_.push_back(std::move(step));
    while (nbytes_ > most_bytes && steps_.size() > 1) {
      nbytes_ -= steps_.front()->nbytes();
      steps_.pop_front();
    }
  }
  void drop_latest(std::size_t count) {
    for (; count != 0; --count) {
      nbytes_ -= steps_.back()->nbytes();
      steps_.pop_back();
    }
  }
  void clear() noexcept {
    steps_.clear();
    nbytes_ = 0;
  }

 private:
  std::deque<std::shared_ptr<const JournalStep>> steps_;
  std::uint64_t nbytes_ = 0;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
