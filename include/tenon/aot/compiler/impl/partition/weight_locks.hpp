// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/impl/pages.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Memory of this process, from `begin` to before `end`.
struct AddressRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// Memory that cannot be written while this lives (`WeightAccess::in_place`). Whole pages are
/// read-only for the process; the ends of a range, which share a page with other data, are kept and
/// restored. At most one object locks: two would unlock each other's memory.
class WeightLocks {
 public:
  WeightLocks() noexcept = default;
  WeightLocks(WeightLocks&& other) noexcept = default;
  WeightLocks& operator=(WeightLocks&& other) noexcept;
  ~WeightLocks() { unlock(); }

  /// Waits until no other thread has one.
  [[nodiscard]] static Result<WeightLocks> make();

  /// False for ranges that are so short that a copy costs less, and where the system refuses.
  /// All of `range` is memory that can be read and written.
  [[nodiscard]] bool lock(const AddressRange& range);

  /// Whether `weight`, in a range that was locked, has the elements that it had.
  [[nodiscard]] bool is_unchanged(Bytes weight) const noexcept;

 private:
  /// Bytes that share a page with others, and their content.
  struct End {
    std::byte* at = nullptr;
    std::vector<std::byte> bytes{};
  };
  void unlock() noexcept;

  std::unique_lock<std::mutex> turn_;
  std::vector<AddressRange> pages_;
  std::vector<End> ends_;
};

inline WeightLocks& WeightLocks::operator=(WeightLocks&& other) noexcept {
  if (this == &other) return *this;
  unlock();
  turn_ = std::move(other.turn_);
  pages_ = std::exchange(other.pages_, {});
  ends_ = std::exchange(other.ends_, {});
  return *this;
}

inline Result<WeightLocks> WeightLocks::make() {
  static std::mutex turns;  // Its constructor is no constant with winpthreads.
  WeightLocks out;
  out.turn_ = std::unique_lock(turns);
  return out;
}

inline bool WeightLocks::lock(const AddressRange& range) {
  constexpr std::size_t shortest = std::size_t{64} << 10;
  if (range.end - range.begin < shortest) return false;
  const auto page = static_cast<std::uintptr_t>(host::platform::page_size());
  const AddressRange pages{(range.begin + page - 1) / page * page, range.end / page * page};
  const auto end_of = [](std::uintptr_t begin, std::uintptr_t end) {
    auto* const at = reinterpret_cast<std::byte*>(begin);
    return End{at, std::vector<std::byte>(at, at + (end - begin))};
  };
  if (pages.begin >= pages.end) return false;
  ends_.push_back(end_of(range.begin, pages.begin));
  ends_.push_back(end_of(pages.end, range.end));
  pages_.push_back(pages);
  if (host::platform::protect_pages(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin,
                                    host::platform::PageAccess::read)) {
    return true;
  }
  pages_.pop_back();
  ends_.resize(ends_.size() - 2);
  return false;
}

inline bool WeightLocks::is_unchanged(Bytes weight) const noexcept {
  const auto before = [](const std::byte* a, const std::byte* b) {
    return reinterpret_cast<std::uintptr_t>(a) < reinterpret_cast<std::uintptr_t>(b);
  };
  for (const End& end : ends_) {
    const std::byte* const from = std::max<const std::byte*>(end.at, weight.data(), before);
    const std::byte* const to = std::min<const std::byte*>(end.at + end.bytes.size(),
                                                           weight.data() + weight.size(), before);
    if (!before(from, to)) continue;
    const auto size = static_cast<std::size_t>(to - from);
    if (std::memcmp(from, end.bytes.data() + (from - end.at), size) != 0) return false;
  }
  return true;
}

inline void WeightLocks::unlock() noexcept {
  for (const AddressRange& pages : pages_) {
    host::platform::protect_pages(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin,
                                  host::platform::PageAccess::read_and_write);
  }
  for (const End& end : ends_) {
    if (end.bytes.empty() || std::memcmp(end.at, end.bytes.data(), end.bytes.size()) == 0) continue;
    std::memcpy(end.at, end.bytes.data(), end.bytes.size());
  }
  pages_.clear();
  ends_.clear();
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
