// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/version.h"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"

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

  /// The next `add` then needs no memory.
  void make_room() {
    steps_.emplace_back();
    steps_.pop_back();
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

  /// The steps, the oldest first: tokens, number of ranges, ranges, and their bytes before.
  [[nodiscard]] std::vector<std::byte> to_bytes() const {
    std::vector<std::byte> out;
    const auto add = [&](const void* data, std::size_t size) {
      const auto* const bytes = static_cast<const std::byte*>(data);
      out.insert(out.end(), bytes, bytes + size);
    };
    for (const auto& step : steps_) {
      const std::uint64_t head[] = {step->tokens, step->ranges.size()};
      add(head, sizeof head);
      for (const JournalStep::Range& range : step->ranges) {
        const std::uint64_t place[] = {range.offset, range.nbytes};
        add(place, sizeof place);
      }
      add(step->before.data(), step->before.size());
    }
    return out;
  }

  /// Reads the bytes of `to_bytes`, for images of `image_bytes` bytes.
  ///
  /// errors: InvalidExternalData.
  [[nodiscard]] static Result<Journal> from_bytes(Bytes from, std::size_t image_bytes) {
    Journal out;
    const auto refused = [&](std::string_view what) {
      return error(Error::InvalidExternalData, "a saved sequence: step ", out.size(),
                   " of its journal ", what);
    };
    const auto number = [&]() -> std::uint64_t {
      const std::uint64_t value = *read_le<std::uint64_t>(from);
      from = from.subspan(8);
      return value;
    };
    while (!from.empty()) {
      if (from.size() < 16) return refused("is cut off");
      auto step = std::make_shared<JournalStep>();
      step->tokens = number();
      const std::uint64_t ranges = number();
      if (ranges > from.size() / 16) return refused("is cut off");
      std::uint64_t nbytes = 0;
      for (std::uint64_t i = 0; i < ranges; ++i) {
        const std::uint64_t offset = number(), size = number();
        if (offset > image_bytes || size > image_bytes - offset) {
          return refused("has a range outside of the state");
        }
        step->ranges.push_back({static_cast<std::size_t>(offset), static_cast<std::size_t>(size)});
        nbytes += size;
        if (nbytes > from.size()) return refused("is cut off");
      }
      const Bytes before = from.first(static_cast<std::size_t>(nbytes));
      step->before.assign(before.begin(), before.end());
      from = from.subspan(before.size());
      out.add(std::move(step), UINT64_MAX);
    }
    return out;
  }

 private:
  std::deque<std::shared_ptr<const JournalStep>> steps_;
  std::uint64_t nbytes_ = 0;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
