// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/impl/partition/weight_locks.hpp"
#include "tenon/aot/compiler/partition/weight_access.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/impl/pages.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// The memory of this process with this access (`host::platform::for_each_range`), sorted,
/// neighbours joined. Empty where the system does not say so (it is read from /proc/self/maps).
[[nodiscard]] std::vector<AddressRange> memory_with_access(host::platform::PageAccess access);

/// Copies of weights for a plugin. Weights that share memory share it in the copy.
class WeightCopies {
 public:
  WeightCopies() noexcept = default;
  WeightCopies(WeightCopies&& other) noexcept
      : access_(other.access_),
        ranges_(std::move(other.ranges_)),
        memory_(std::exchange(other.memory_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        locks_(std::move(other.locks_)) {}
  WeightCopies& operator=(WeightCopies&&) = delete;
  ~WeightCopies();

  /// Copies what `access` demands of `weights`, which must outlive this.
  ///
  /// errors: MemoryAllocationFailed.
  [[nodiscard]] static Result<WeightCopies> make(std::span<const Bytes> weights,
                                                 WeightAccess access);

  /// The place of `weight`, one of those that were given or a part of one, for the plugin.
  [[nodiscard]] Bytes place_of(Bytes weight) const noexcept;

  /// Whether `weight` still is in its copy as it was given.
  [[nodiscard]] bool is_unchanged(Bytes weight) const noexcept;

 private:
  struct Range {
    AddressRange from;
    std::size_t offset = 0;  ///< Of the copy.
  };

  WeightAccess access_ = WeightAccess::read_only;
  std::vector<Range> ranges_;  ///< Ranges that were copied, sorted.
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
  WeightLocks locks_;
};

inline std::vector<AddressRange> memory_with_access(host::platform::PageAccess access) {
  std::vector<AddressRange> out;
  host::platform::for_each_range(access, [&](std::uintptr_t begin, std::uintptr_t end) {
    if (!out.empty() && out.back().end == begin) {
      out.back().end = end;
    } else {
      out.push_back({begin, end});
    }
  });
  return out;
}

inline WeightCopies::~WeightCopies() {
  if (memory_ != nullptr) host::platform::give_back_pages(memory_, size_);
}

inline Result<WeightCopies> WeightCopies::make(std::span<const Bytes> weights,
                                               WeightAccess access) {
  constexpr std::size_t alignment = 64;
  std::vector<AddressRange> given;
  for (const Bytes weight : weights) {
    if (weight.empty()) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(weight.data());
    given.push_back({begin, begin + weight.size()});
  }
  const auto before = [](const AddressRange& a, const AddressRange& b) {
    return a.begin < b.begin;
  };
  std::ranges::sort(given, before);
  WeightCopies out;
  out.access_ = access;
  if (access == WeightAccess::in_place && !given.empty()) {
    TENON_TRY(out.locks_, WeightLocks::make());
  }
  const bool may_stay = access != WeightAccess::compared && !given.empty();
  const std::vector<AddressRange> closed =
      may_stay ? memory_with_access(host::platform::PageAccess::read) : std::vector<AddressRange>();
  for (const AddressRange& one : given) {
    const auto after = std::ranges::upper_bound(closed, one, before);
    if (after != closed.begin() && one.end <= (after - 1)->end) continue;
    if (!out.ranges_.empty() && one.begin <= out.ranges_.back().from.end) {
      out.ranges_.back().from.end = std::max(out.ranges_.back().from.end, one.end);
    } else {
      out.ranges_.push_back({one, 0});
    }
  }
  if (access == WeightAccess::in_place) {
    const std::vector<AddressRange> open =
        memory_with_access(host::platform::PageAccess::read_and_write);
    std::erase_if(out.ranges_, [&](const Range& range) {
      const auto after = std::ranges::upper_bound(open, range.from, before);
      return after != open.begin() && range.from.end <= (after - 1)->end &&
             out.locks_.lock(range.from);
    });
  }
  for (Range& range : out.ranges_) {  // Each as aligned as where it is.
    out.size_ = (out.size_ + alignment - 1) / alignment * alignment + range.from.begin % alignment;
    range.offset = out.size_;
    out.size_ += range.from.end - range.from.begin;
  }
  if (out.ranges_.empty()) return out;
  void* const memory = host::platform::take_pages(out.size_);
  if (!memory) {
    return error(Error::MemoryAllocationFailed, "no memory for a copy of ",
                 std::exchange(out.size_, 0), " bytes of weights: ", std::strerror(errno));
  }
  out.memory_ = static_cast<std::byte*>(memory);
  for (const Range& range : out.ranges_) {
    std::memcpy(out.memory_ + range.offset, reinterpret_cast<const void*>(range.from.begin),
                range.from.end - range.from.begin);
  }
  if (access != WeightAccess::compared &&
      !host::platform::protect_pages(memory, out.size_, host::platform::PageAccess::read)) {
    return error(Error::MemoryAllocationFailed, "a copy of ", out.size_,
                 " bytes of weights cannot be made read-only: ", std::strerror(errno));
  }
  return out;
}

inline Bytes WeightCopies::place_of(Bytes weight) const noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(weight.data());
  const auto after = std::ranges::upper_bound(ranges_, begin, {},
                                              [](const Range& range) { return range.from.begin; });
  if (weight.empty() || after == ranges_.begin()) return weight;
  const Range& range = *(after - 1);
  if (begin >= range.from.end) return weight;
  return {memory_ + range.offset + (begin - range.from.begin), weight.size()};
}

inline bool WeightCopies::is_unchanged(Bytes weight) const noexcept {
  if (access_ == WeightAccess::read_only) return true;
  if (access_ == WeightAccess::in_place) return locks_.is_unchanged(weight);
  const Bytes copy = place_of(weight);
  return copy.data() == weight.data() ||
         std::memcmp(copy.data(), weight.data(), weight.size()) == 0;
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
