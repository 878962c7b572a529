// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aoti {

/// Objects in use that were made from bytes, so that users of equal bytes share one object.
///
/// An object is found by the hash of the bytes and then compared with them, never by a key: a
/// program must not get another program's weights by choosing their key, or bytes of the same hash.
///
/// Threads: any. A thread that asks for an object that another thread is making waits and shares
/// it.
template <class Object>
class SharedByContent {
 public:
  /// The object for `bytes`: one for which `is_same`, a `Result<bool>(const Object&)`, holds, or
  /// the one that `make` returns, a `Result<std::shared_ptr<const Object>>()`.
  /// errors: those of both functions.
  template <class IsSame, class Make>
  [[nodiscard]] Result<std::shared_ptr<const Object>> get(Bytes bytes, const IsSame& is_same,
                                                          const Make& make) {
    const std::size_t hash = std::hash<std::string_view>{}(as_text(bytes));
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = objects_.equal_range(hash);
    for (auto each = begin; each != end; ++each) {
      auto object = each->second.lock();
      if (!object) continue;
      TENON_TRY(const bool same, is_same(*object));
      if (same) return object;
    }
    TENON_TRY(std::shared_ptr<const Object> made, make());
    // What is no longer in use is dropped when their number has doubled: a program may have any
    // number of weights.
    if (objects_.size() >= drop_at_) {
      std::erase_if(objects_, [](const auto& entry) { return entry.second.expired(); });
      drop_at_ = 2 * objects_.size() + least_drop;
    }
    objects_.emplace(hash, made);
    return made;
  }

  /// Bytes of all objects in use.
  [[nodiscard]] std::size_t nbytes() const {
    const std::lock_guard lock(mutex_);
    std::size_t sum = 0;
    for (const auto& entry : objects_) {
      if (const auto object = entry.second.lock()) sum += object->nbytes();
    }
    return sum;
  }

 private:
  static constexpr std::size_t least_drop = 64;

  mutable std::mutex mutex_;
  std::unordered_multimap<std::size_t, std::weak_ptr<const Object>> objects_;  ///< By their hash.
  std::size_t drop_at_ = least_drop;
};

}  // namespace tenon::aoti
