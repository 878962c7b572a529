// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/core/bytes.hpp"

namespace tenon::aoti {

/// Alignment that models expect of each constant (kAlignment of torch/_inductor: 64 bytes).
inline constexpr std::size_t weights_alignment = 64;

/// True when a blob may be used where it lies.
[[nodiscard]] inline bool is_aligned(Bytes blob) noexcept {
  return reinterpret_cast<std::uintptr_t>(blob.data()) % weights_alignment == 0;
}

/// A copy of a blob of weights, aligned.
class WeightsCopy {
 public:
  explicit WeightsCopy(Bytes blob)
      : data_(static_cast<std::byte*>(::operator new(std::max<std::size_t>(blob.size(), 1),
                                                     std::align_val_t(weights_alignment)))),
        size_(blob.size()) {
    std::ranges::copy(blob, data_);
  }
  WeightsCopy(const WeightsCopy&) = delete;
  WeightsCopy& operator=(const WeightsCopy&) = delete;
  ~WeightsCopy() { ::operator delete(data_, std::align_val_t(weights_alignment)); }

  [[nodiscard]] Bytes bytes() const noexcept { return {data_, size_}; }
  [[nodiscard]] std::byte* data() noexcept { return data_; }

 private:
  std::byte* data_;
  std::size_t size_;
};

/// Copies of weights that are in use, so that delegates with the same weights share one.
///
/// Only weights that cannot be used where the host put them are copied at all. Which ones are the
/// same is told by their bytes and not by their key: a program that gives its own weights another
/// program's key must not get those.
///
/// Threads: any. A copy goes with the last delegate that uses it.
class WeightStore {
 public:
  /// Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const WeightsCopy> copy_of(Bytes blob) {
    const std::size_t hash = std::hash<std::string_view>{}(as_text(blob));
    const std::lock_guard lock(mutex_);
    std::erase_if(copies_, [](const auto& entry) { return entry.second.expired(); });
    const auto [first, last] = copies_.equal_range(hash);
    for (auto entry = first; entry != last; ++entry) {
      auto copy = entry->second.lock();
      if (copy && std::ranges::equal(copy->bytes(), blob)) return copy;
    }
    auto copy = std::make_shared<const WeightsCopy>(blob);
    copies_.emplace(hash, copy);
    return copy;
  }

  /// Bytes of all copies in use.
  [[nodiscard]] std::size_t nbytes() const {
    const std::lock_guard lock(mutex_);
    std::size_t sum = 0;
    for (const auto& entry : copies_) {
      if (const auto copy = entry.second.lock()) sum += copy->bytes().size();
    }
    return sum;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_multimap<std::size_t, std::weak_ptr<const WeightsCopy>> copies_;
};

}  // namespace tenon::aoti
